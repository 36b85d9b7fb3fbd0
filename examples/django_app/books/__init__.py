"""Books that are translated page by page."""
