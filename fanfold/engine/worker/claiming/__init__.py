"""Chooses the items that a worker claims next: candidates, fair shares, free slots, the claim."""
