"""Threads of the server beside its event loop: database, health, pictures."""
