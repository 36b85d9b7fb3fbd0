"""Queries of items that wait for an external job or a subtask."""
