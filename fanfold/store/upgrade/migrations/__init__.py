"""The road of the schema, one numbered step at a time."""
