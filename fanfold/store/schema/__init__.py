"""Tables, indexes and constraints, and how statements are run."""
