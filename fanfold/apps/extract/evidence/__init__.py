"""Locates quotes in documents, so that no value is trusted without evidence."""
