"""Scenarios with real processes, real servers and real faults. Each states what is promised and what was observed."""
