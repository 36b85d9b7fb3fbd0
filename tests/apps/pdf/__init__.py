"""Tests of the conversion of PDFs to Markdown."""
