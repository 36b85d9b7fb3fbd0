"""Verbs on everything but items: tasks, workers, events, answers, decisions, tokens."""
