"""One listener in several processes: a supervisor, its workers, and what these ask each other."""
