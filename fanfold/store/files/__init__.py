"""Stores large values outside the database."""
