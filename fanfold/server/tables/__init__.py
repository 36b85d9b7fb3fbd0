"""The table of a task: its records as rows, with people's decisions applied, for the API and the page."""
