"""One attempt at an item: the call of its handler, where it runs, how it ended, and the writing of that."""
