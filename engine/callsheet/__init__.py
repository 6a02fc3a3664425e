"""Callsheet: command-line programs interpreted from definitions."""

__version__ = "0.1.0"
