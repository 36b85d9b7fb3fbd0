"""Sentences that people read: their codes, their languages, times and counts in words."""
