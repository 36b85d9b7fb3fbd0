"""Finds the tables of a page: by their rules, or by the white space between their columns."""
