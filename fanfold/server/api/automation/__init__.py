"""Routes for work that begins or reports by itself: schedules, webhooks, wake-ups of external jobs."""
