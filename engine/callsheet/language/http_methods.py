"""The methods of HTTP that an API may have, and what a request of each may do where nothing else is known."""

from __future__ import annotations

# https://www.iana.org/assignments/http-methods, and PURGE of caches.
READING = ("GET", "HEAD", "OPTIONS", "QUERY", "PROPFIND", "REPORT", "SEARCH")
WRITING = ("POST", "PUT", "PATCH", "COPY", "LINK", "LOCK", "MERGE", "MKCOL", "MOVE", "PROPPATCH", "UNLOCK")
REMOVING = ("DELETE", "PURGE", "UNLINK")
METHODS = (*READING, *WRITING, *REMOVING)
