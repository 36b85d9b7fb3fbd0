"""Terminal output: progress, errors, results and exit codes."""
