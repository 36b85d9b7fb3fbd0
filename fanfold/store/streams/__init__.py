"""What running items emit, in order."""
