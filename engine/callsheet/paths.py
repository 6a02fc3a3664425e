"""Where files of one person lie on each platform.

A dozen lines instead of a library because every start of a program asks, and the library costs more than the
rest of the start-up's own code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

APPLICATION = "callsheet"
HOME = "CALLSHEET_HOME"
CACHE = "CALLSHEET_CACHE"


def config_directory(environ: Mapping[str, str]) -> str:
    """The directory of profiles, aliases and a person's own definitions; it need not exist."""
    if environ.get(HOME):
        return os.path.abspath(environ[HOME])
    if sys.platform == "win32":
        return os.path.join(environ.get("APPDATA") or _home_directory(environ), APPLICATION)
    if sys.platform == "darwin":
        return os.path.join(_home_directory(environ), "Library", "Application Support", APPLICATION)
    return os.path.join(
        environ.get("XDG_CONFIG_HOME") or os.path.join(_home_directory(environ), ".config"), APPLICATION
    )


def settings_directory(environ: Mapping[str, str], program: str) -> str:
    """The directory of a program's sites, credentials and aliases; it need not exist.

    Programs that come with the package share one. Each of a person's own has another, so that none of them ever sees
    the sites of another program.
    """
    home = config_directory(environ)
    shipped, _ = shipped_definitions()
    return home if os.path.isdir(os.path.join(shipped, program)) else os.path.join(home, "programs", program)


def own_definitions_folder(environ: Mapping[str, str], program: str) -> str:
    """The directory of a person's own definitions of a program; it need not exist."""
    return os.path.join(config_directory(environ), "definitions", program)


def cache_directory(environ: Mapping[str, str]) -> str:
    """The directory of what can be made again at any time; it need not exist."""
    if environ.get(CACHE):
        return os.path.abspath(environ[CACHE])
    if environ.get(HOME):
        return os.path.join(os.path.abspath(environ[HOME]), "cache")
    if sys.platform == "win32":
        return os.path.join(environ.get("LOCALAPPDATA") or _home_directory(environ), APPLICATION, "cache")
    if sys.platform == "darwin":
        return os.path.join(_home_directory(environ), "Library", "Caches", APPLICATION)
    return os.path.join(environ.get("XDG_CACHE_HOME") or os.path.join(_home_directory(environ), ".cache"), APPLICATION)


def state_directory(environ: Mapping[str, str]) -> str:
    """The directory of what programs remember of what they did; it need not exist."""
    if environ.get(HOME):
        return os.path.join(os.path.abspath(environ[HOME]), "state")
    if sys.platform == "win32":
        return os.path.join(environ.get("LOCALAPPDATA") or _home_directory(environ), APPLICATION, "state")
    if sys.platform == "darwin":
        return os.path.join(_home_directory(environ), "Library", "Application Support", APPLICATION, "state")
    return os.path.join(
        environ.get("XDG_STATE_HOME") or os.path.join(_home_directory(environ), ".local", "state"), APPLICATION
    )


def shipped_definitions() -> tuple[str, bool]:
    """The directory of the built-in definitions, and whether it is an installed copy, which nobody edits."""
    package = os.path.dirname(os.path.abspath(__file__))
    inside = os.path.join(package, "definitions")
    if os.path.isdir(inside):
        return inside, True
    return os.path.join(os.path.dirname(os.path.dirname(package)), "definitions"), False


def _home_directory(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or os.path.expanduser("~")


def stays_below(path: str) -> bool:
    """Whether a path, with slashes on every platform, is of a file below whatever directory it is put behind.

    No step leads up, and nothing in it is a drive, a home directory or a variable to anything that reads it again.
    """
    parts = path.split("/")
    return (
        path.isprintable()
        and not any(part in ("", ".", "..") or set(part) & set("\\:$") for part in parts)
        and path[0] != "~"
    )
