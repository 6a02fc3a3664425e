"""A page for the browser of whoever runs a listener: deliveries as they come, events in an inbox or a queue."""
