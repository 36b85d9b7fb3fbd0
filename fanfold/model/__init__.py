"""What is it? Pure values and rules: no database, no clock, no network."""
