"""Asking for one page after another, in the ways that paginator definitions describe."""
