"""Reads the characters of a page from pdfium: their text, place, type and direction."""
