"""PostgreSQL only: server access, errors and connections."""
