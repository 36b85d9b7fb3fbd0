"""Finds what was left behind: sweep, abandoned work, and ticks without a daemon."""
