"""What an item waits for without holding a worker: an external job, a subtask, an answer."""
