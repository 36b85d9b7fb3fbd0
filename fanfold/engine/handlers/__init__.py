"""The objects passed to handlers: the task or item they work on."""
