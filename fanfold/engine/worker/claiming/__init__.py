"""Which items a worker takes next: candidates, fair shares, free slots, the claim."""
