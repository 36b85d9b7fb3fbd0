"""The list of tasks: rows, filters, bulk commands and the form for new ones."""
