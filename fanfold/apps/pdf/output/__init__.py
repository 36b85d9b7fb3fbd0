"""Binds the pages of a document together and provides the result in its forms."""
