"""Programs of a person's own: made from an OpenAPI document, started by a launcher, shared and installed."""
