"""One attempt at an item: calls the handler in the loop, a thread or a child, and stores how it ended."""
