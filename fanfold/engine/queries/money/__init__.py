"""Queries about money: budgets, costs, limits and batches."""
