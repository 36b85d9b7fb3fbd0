"""Finds documents in files, folders, archives and manifests, and reads them as numbered lines."""
