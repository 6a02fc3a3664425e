"""All definitions of a program, compiled into one file, and searching it."""
