"""Getting to a site: what answers there, signing in, and whether the credential works."""
