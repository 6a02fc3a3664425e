"""Commands called by a program instead of a person: values by their names in, and what would be printed as data."""
