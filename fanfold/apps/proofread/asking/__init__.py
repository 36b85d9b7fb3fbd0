"""Asks models about the paragraphs of a chunk, and plans what follows a rejected answer."""
