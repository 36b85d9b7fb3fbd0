"""Tests of values and rules."""
