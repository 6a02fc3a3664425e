"""A site's things in an SQLite file of one's own: kept up to date, and asked with SQL."""
