"""Everything that changes a task: submitting, transitions, advancing, people's commands, the sweep and the tick."""
