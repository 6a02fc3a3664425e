"""Running a command: its values are looked up, its steps are taken, the last answer is printed."""
