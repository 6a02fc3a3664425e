"""Which handlers an event goes to."""
