"""One listener in several processes: a supervisor, its workers, and what they share."""
