"""What a command does: its words are resolved, its steps are taken, the last answer is shown."""
