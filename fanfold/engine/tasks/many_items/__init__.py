"""Writes, removes and resets many items in short transactions."""
