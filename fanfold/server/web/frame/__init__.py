"""What every page shares: templates, languages, static files, Markdown."""
