"""The things of a site by their resources: listed, found, read, made, changed and deleted."""
