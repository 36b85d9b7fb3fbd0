"""What handlers hold in their hands: the task or item they work on."""
