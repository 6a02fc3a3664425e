"""Sites, their profiles, and the credentials that belong to them."""
