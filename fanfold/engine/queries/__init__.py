"""Read-only queries: tasks, items, results, metrics and the doctor."""
