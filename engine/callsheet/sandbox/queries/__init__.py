"""Languages of conditions that a service searches with: read, and applied to items."""
