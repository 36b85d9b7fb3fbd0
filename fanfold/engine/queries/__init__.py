"""What reads without changing: tasks, items, results, metrics and the doctor."""
