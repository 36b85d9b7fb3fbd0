"""What only SQLite needs: its file, and the garbage collector while its lock is held."""
