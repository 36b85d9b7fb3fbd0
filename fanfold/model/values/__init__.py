"""Values that are kept or passed around: files, JSON, usage, questions, secrets, keys."""
