"""Submits new tasks: inputs, options, keys."""
