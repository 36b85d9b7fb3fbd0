"""Templates: the fields to extract, read from several notations, checked, and translated for the services."""
