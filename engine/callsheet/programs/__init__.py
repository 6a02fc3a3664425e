"""Programs that people make: from an OpenAPI document, started by a launcher, shared and installed."""
