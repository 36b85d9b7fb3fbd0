"""Parts shared by every page: templates, languages, static files, Markdown."""
