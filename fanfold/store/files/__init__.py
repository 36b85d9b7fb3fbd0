"""Large values outside the database."""
