"""Routes about money: estimates, budgets, costs, limits and batches."""
