"""Tables of budgets, batches, credits and rate limits."""
