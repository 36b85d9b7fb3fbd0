"""Stores the pieces that running items emit."""
