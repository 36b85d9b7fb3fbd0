"""Runs one command over many files: finds the sources, saves the results beside them and prints a summary."""
