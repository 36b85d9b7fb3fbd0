"""What runs beside the loop of a worker: heartbeat, sweep, and the watchdog that sees the loop blocked."""
