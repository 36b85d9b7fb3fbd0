"""Is every guard needed? Each is taken out by itself, and some test or seed must see it."""
