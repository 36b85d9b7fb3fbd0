"""People's commands on tasks: pause, resume, cancel, retry, rerun, merge, decide, delete."""
