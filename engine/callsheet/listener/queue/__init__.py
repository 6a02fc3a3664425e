"""Events kept outside this process until they are handled."""
