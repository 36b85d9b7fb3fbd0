"""Stores tasks, items and files. All SQL is here: tables, verbs on them, blobs and migrations."""
