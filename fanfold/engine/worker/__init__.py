"""The worker: its loop, turns, claiming, running attempts, child processes and the heartbeat."""
