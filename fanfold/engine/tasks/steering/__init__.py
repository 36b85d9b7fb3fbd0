"""What people tell a task: pause, resume, cancel, retry, rerun, merge, decide, delete."""
