"""What a program may be called, and how its environment variables begin."""

from __future__ import annotations

import re

from ..errors import UsageError

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST = 40
# Names that Windows keeps for devices.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))}


def check_name(name: str) -> None:
    """Raise `UsageError` for what cannot be the name of a command on every system."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise UsageError(
            f"{name!r} is not a valid program name",
            hint="lower-case letters, digits and single hyphens, a letter first",
        )
    if name in _DEVICES:
        raise UsageError(f"{name!r} is not a valid program name: Windows keeps it for a device")


def prefix_of(name: str) -> str:
    """`my-shop` → `MY_SHOP`."""
    return name.upper().replace("-", "_")
