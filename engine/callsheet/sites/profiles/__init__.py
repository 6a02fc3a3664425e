"""Sites in a file: read, checked, edited."""

from __future__ import annotations

from ...durations import DAY

LONGEST = DAY  # no wait is longer, and no rate higher
PLACES = ("token_env", "token_file", "store")  # where a secret may be: only one of them
# Setting of a site → what its values are: a boolean, a registry of the engine, a kind of definition, or a text.
SETTINGS: dict[str, str] = {
    "base_url": "",
    "method": "auth",
    "email": "",
    "token_env": "",
    "token_file": "",
    "store": "",
    "deployment": "deployment",
    "client_id": "",
    "scopes": "",
    "cloud_id": "",
    "output": "output",
    "project": "",
    "board": "",
    "rps": "",
    "timeout": "",
    "ca_bundle": "",
    "client_cert": "",
    "client_key": "",
    "proxy": "",
    "read_only": "boolean",
    "completion": "boolean",
    "journal": "",
    "mirror": "",
    "policy": "",
}
