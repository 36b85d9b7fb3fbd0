"""Binds the pages of a document together, and gives the result in its forms."""
