"""Types of a program for checkers of Python: a package of stubs, written from its definitions."""
