"""Which commands are there? Each module here is one of them, under the name a person types."""
