"""The worker: its loop, the turn, claiming, the attempts under way, calling handlers, child processes and the heartbeat."""
