"""Tests of requests to addresses that other people choose."""
