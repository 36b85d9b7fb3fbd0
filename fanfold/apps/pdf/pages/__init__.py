"""Converts one page: by its text layer, by OCR, and checks of what came out."""
