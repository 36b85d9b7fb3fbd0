"""Tests of requests to addresses that somebody else has chosen."""
