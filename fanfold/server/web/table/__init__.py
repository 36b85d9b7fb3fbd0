"""The table of a task, and a single cell of it with its evidence."""
