"""The pictures of an item, and the gallery of a task."""
