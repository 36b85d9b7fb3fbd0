"""Converts one page, from its text layer or by OCR, and checks the output."""
