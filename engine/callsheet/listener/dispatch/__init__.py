"""Running handlers, and answering the sender."""
