"""Tests of the carriers."""
