"""Tests with real processes, real servers and real crashes."""
