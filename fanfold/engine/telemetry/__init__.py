"""Reports submissions, attempts, calls to models and stages to OpenTelemetry, if the settings ask for it."""
