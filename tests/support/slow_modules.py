"""What a start may not load: each costs more than the rest of it together."""

from __future__ import annotations

SLOW = [
    "asyncio",
    "cryptography",
    "dataclasses",
    "httpx",
    "jmespath",
    "jq",
    "jsonschema",
    "jwt",
    "keyring",
    "markdown_it",
    "mcp",
    "mcp_types",
    "nats",
    "pathlib",
    "pydantic",
    "shutil",
    "tomlkit",
    "tomllib",
    "typing_extensions",
    "uvicorn",
    "wcwidth",
    "yaml",
    "logging",
    "urllib.request",
]
