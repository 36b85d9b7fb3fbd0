"""Measurements of Fanfold alone: latency, memory, growth and pace."""
