"""Work that begins at a time: schedules, and tasks with a start time."""
