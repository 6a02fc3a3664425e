"""One listener in several processes: a supervisor, its workers, and the messages between them."""
