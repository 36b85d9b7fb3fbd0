"""The server's threads beside its event loop: database, health, pictures."""
