"""What a person sees in the terminal: progress, errors, results, exit codes."""
