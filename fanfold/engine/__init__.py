"""The engine: submits, claims, calls handlers, settles, advances, sweeps, and carries out people's commands."""
