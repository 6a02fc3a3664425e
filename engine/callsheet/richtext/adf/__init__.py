"""The document format: JSON nodes and marks, read into the neutral tree and written from it."""
