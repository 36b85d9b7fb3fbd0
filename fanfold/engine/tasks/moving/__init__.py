"""Moves a task from stage to stage, exactly once."""
