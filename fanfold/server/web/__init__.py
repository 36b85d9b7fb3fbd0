"""The web pages: templates, fragments of them, and static files; no build step."""
