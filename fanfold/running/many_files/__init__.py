"""Runs one command over many files: sources, results beside them, summary."""
