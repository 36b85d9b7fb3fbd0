"""Files that handlers keep: written first, then recorded in the database with their attempt."""
