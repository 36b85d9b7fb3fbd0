"""Rows about paid calls: answers, batches, budgets, costs and rate limits."""
