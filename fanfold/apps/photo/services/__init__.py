"""Image services: one small protocol (start, look, cancel, fetch) and an adapter for each kind of HTTP service."""
