"""Child processes: what runs in them, the pool that keeps them, and how they are ended."""
