"""Child processes: what runs in them, how they are kept, and what is ended with them."""
