"""What comes in the box? Applications written against the public surface only."""
