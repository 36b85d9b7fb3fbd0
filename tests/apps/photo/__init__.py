"""Tests of the Photo application."""
