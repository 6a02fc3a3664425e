"""Coding agents: what a command line of theirs would do, guards for their hosts, and what they should know."""
