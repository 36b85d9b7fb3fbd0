"""Credits of owners: what a task costs, when it is charged, and what is refunded."""
