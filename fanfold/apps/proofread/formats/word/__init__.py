"""Word documents: reading, runs and tracked changes."""
