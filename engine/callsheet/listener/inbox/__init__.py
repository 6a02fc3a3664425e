"""Events kept in a file until they are handled."""
