"""Storage XHTML: reading and writing."""
