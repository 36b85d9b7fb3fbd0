"""What the API is asked and answers, as the OpenAPI description shows it."""
