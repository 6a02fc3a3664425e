"""From an operation and its values to answers: requests, HTTP, pages."""
