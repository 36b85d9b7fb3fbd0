"""What can a program ask for? The routes of the API, by the noun they are about."""
