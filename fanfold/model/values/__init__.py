"""Values that are stored or passed around: files, JSON, usage, questions, secrets, keys."""
