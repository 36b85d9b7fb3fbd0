"""Upgrades a database to the tables of this version."""
