"""Tests of the bundled applications."""
