"""The engines that are compared, one file each: how it is filled, run, and asked for its results."""
