"""What calls cost, and what limits them: amounts, budgets, estimates, batches and rate limits."""
