"""The protocols of AI services, one module each."""
