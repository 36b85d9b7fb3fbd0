"""What only PostgreSQL needs: its server, its errors and its connections."""
