"""Checks requests and formats refusals: access, guard, problem documents."""
