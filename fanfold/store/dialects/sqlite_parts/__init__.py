"""SQLite only: file access, and postponing garbage collection while its lock is held."""
