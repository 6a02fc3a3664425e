"""Signed test events, and key sets to verify them with."""
