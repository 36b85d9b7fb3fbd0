"""Webhooks: tells other programs what became of tasks."""
