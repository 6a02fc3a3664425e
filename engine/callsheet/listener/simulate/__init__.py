"""Signed events and key sets made here, for trying."""
