"""What else is worth a figure? Latency, memory, growth, pace: each measured on Fanfold alone."""
