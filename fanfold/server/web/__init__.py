"""What does a person see? Pages made of templates, small fragments of them, and the files they need; no build step."""
