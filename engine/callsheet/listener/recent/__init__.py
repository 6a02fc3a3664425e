"""The last deliveries of a listener, in memory: why each was refused, which routes took it, how its handlers ended."""
