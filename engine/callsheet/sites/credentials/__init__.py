"""Secrets: where they are kept and how they are presented."""
