"""Declares tables, indexes and constraints, and runs statements."""
