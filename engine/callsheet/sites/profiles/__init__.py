"""Sites in a file: read, checked, edited."""
