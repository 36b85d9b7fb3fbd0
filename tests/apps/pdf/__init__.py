"""Does a PDF become the Markdown that a person would write?"""
