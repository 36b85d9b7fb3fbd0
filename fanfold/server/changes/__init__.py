"""The changes of a task, for the API and the page."""
