"""Estimates before a task starts, and budgets that tasks share."""
