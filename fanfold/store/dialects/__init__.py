"""All that differs between SQLite and PostgreSQL."""
