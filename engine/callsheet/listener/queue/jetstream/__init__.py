"""The queue on a NATS server: a JetStream stream that several machines fill and work on."""
