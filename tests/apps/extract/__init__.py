"""Tests of the application that extracts fields from documents."""
