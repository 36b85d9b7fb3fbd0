"""Migrations of the schema, one numbered step each."""
