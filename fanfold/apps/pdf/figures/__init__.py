"""Finds the figures of a page, places them in its text and draws them as files."""
