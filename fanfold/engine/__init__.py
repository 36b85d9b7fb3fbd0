"""What happens next? Submitting, claiming, calling, settling, advancing, sweeping, and people's commands."""
