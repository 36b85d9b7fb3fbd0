"""Makes the table: rows, decisions, files in several formats, comparison with known values, duplicates."""
