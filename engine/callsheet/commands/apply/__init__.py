"""Files that describe a site: compared with it in three ways, and applied to it."""
