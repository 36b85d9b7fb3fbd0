"""Takes in new tasks: inputs, options, keys."""
