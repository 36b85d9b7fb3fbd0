"""Compares Fanfold with other engines and with bare SQL statements: `python -m benchmarks.engines`."""
