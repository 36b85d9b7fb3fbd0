"""Threads beside the loop of a worker: heartbeat, sweep, and the watchdog that detects a blocked loop."""
