"""The documented shapes of output that views of the page show."""
