"""The Python library: the commands, operations and things of any program as calls of a script."""
