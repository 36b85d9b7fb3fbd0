"""Removes each guard of the code by itself: some test or seed must notice."""
