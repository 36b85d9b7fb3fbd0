"""Tells OpenTelemetry of submissions, attempts, calls to models and stages, where the settings ask for it."""
