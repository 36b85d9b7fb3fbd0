"""Recovers abandoned work: the sweep, half-written items, and ticks without a daemon."""
