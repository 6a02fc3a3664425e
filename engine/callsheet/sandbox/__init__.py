"""A simulated site on this machine: it keeps, searches and serves the items that `entity` definitions describe."""
