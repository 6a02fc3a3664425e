"""Sending requests: connections, retries, quotas, redirects, and what an answer means."""
