"""The built-in commands: one module each, named after the command."""
