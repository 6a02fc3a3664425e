"""Signing in: which products a site has, getting a credential, and checking that it works."""
