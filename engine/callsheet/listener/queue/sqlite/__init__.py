"""The queue in a file: one SQLite database."""
