"""Journals: which of many things were changed, which were not, and what they were before."""
