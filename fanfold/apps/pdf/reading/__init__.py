"""Reads a PDF: pages, fonts, and pieces of text with their positions."""
