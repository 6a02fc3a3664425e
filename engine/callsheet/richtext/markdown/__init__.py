"""Markdown: reading and writing."""
