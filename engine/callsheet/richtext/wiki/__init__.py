"""Wiki markup: reading and writing."""
