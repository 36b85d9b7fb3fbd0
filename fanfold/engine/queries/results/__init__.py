"""Queries of results: of a task, of its items, and as a stream."""
