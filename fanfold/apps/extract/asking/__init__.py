"""Asks a model about one document: the prompt, windows of long documents, the answer, its repair and its reduction."""
