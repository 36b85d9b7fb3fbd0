"""The page with the changes of a task."""
