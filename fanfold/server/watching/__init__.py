"""Live updates for open pages and metrics for Prometheus."""
