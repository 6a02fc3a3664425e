"""What values of a profile must fit, also where they come from options; needs no pydantic."""

from __future__ import annotations

DAY = 86_400  # seconds; no wait is longer, and no rate higher
PLACES = ("token_env", "token_file", "store")  # where a secret may be: only one of them
