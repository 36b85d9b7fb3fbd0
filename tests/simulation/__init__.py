"""Plays the real engine and store with time, threads and crashes under one seeded schedule."""
