"""Builds prompts from scenes, parameters and the words of a person."""
