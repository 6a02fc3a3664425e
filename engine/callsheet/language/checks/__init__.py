"""Checks of definitions that a shape cannot express, one module for each subject. `check.py` runs them all."""
