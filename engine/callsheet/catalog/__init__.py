"""All definitions of a program, compiled into one file, and the search for operations."""
