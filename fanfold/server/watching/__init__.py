"""Live figures for open pages and for Prometheus."""
