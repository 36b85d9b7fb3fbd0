"""How a database comes to the tables of this version."""
