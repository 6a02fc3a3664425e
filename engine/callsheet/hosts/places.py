"""Where a file of another program lies on this platform."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ..errors import UsageError
from ..paths import stays_below

if TYPE_CHECKING:
    from ..language.shape.agents import ServerList

_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_PLATFORMS: dict[str, Literal["windows", "macos"]] = {"win32": "windows", "darwin": "macos"}


def user_file(servers: ServerList, environ: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """The file of this person; None where the program has none on this platform."""
    paths = servers.get("user", {})
    here: Literal["linux", "windows", "macos"] = _PLATFORMS.get(platform, "linux")
    named = paths.get(here) or paths.get("any")
    return chosen(named, environ) if named else None


def project_file(servers: ServerList, folder: str) -> str | None:
    """The file of the project in a folder; None where the program has none. Raises `UsageError` as `below`."""
    paths = [below(folder, path) for path in servers.get("project", ())]
    return next((path for path in paths if os.path.lexists(path)), paths[0]) if paths else None


def below(folder: str, path: str) -> str:
    """A file that a definition names below a folder. Raises `UsageError` where it lies elsewhere, also by a link."""
    if not stays_below(path):
        raise UsageError(f"{path!r} does not stay below {folder}", hint="nothing was written")
    found = os.path.normpath(os.path.join(folder, *path.split("/")))
    top, target = os.path.realpath(folder), os.path.realpath(found)
    if os.path.commonpath([top, target]) != top:
        raise UsageError(f"{found} leads out of {folder}, to {target}", hint="nothing was written")
    return found


def chosen(paths: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The first of the paths that exists, else the first whose variables are all set."""
    known = [found for path in paths if (found := expanded(path, environ)) is not None]
    return next((path for path in known if os.path.lexists(path)), known[0] if known else None)


def expanded(path: str, environ: Mapping[str, str]) -> str | None:
    """The path with its home directory and variables, in this platform's writing; None where one is not set."""
    if any(not environ.get(name) for name in _VARIABLE.findall(path)):
        return None
    if path.startswith("~/"):
        path = os.path.join(home(environ), path[2:])
    return os.path.normpath(_VARIABLE.sub(lambda match: environ[match[1]], path))


def home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~")
