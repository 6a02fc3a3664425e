"""The command line: the tree of commands, options, help, completion."""
