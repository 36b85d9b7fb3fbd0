"""Model services by name: how they are called, what they cost, and what becomes of their answers."""
