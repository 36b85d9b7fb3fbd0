"""Marks pictures as made by AI: a visible watermark, and labels in the metadata of the file."""
