"""Lists the changes of a book with their decisions, and decides about many at once."""
