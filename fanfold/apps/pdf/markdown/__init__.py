"""Converts pieces of text into Markdown: blocks, headings, tables, running lines."""
