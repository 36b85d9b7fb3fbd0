"""Who answers? Model services by name: what they are called with, what they cost, and what becomes of their answers."""
