"""Words of the site for a parameter: those of the cache, at once; what is missing or old is asked for behind it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...commands.context import Context
from ...errors import CallsheetError
from ...installation import own_command
from .shells import variable
from .suggested import suggested_words, values_depended_on
from .word_cache import WordCache, Words

if TYPE_CHECKING:
    from ...language.shape.commands import Param
    from ...sites.site import Site

_FITS = 4096  # bytes that a pipe takes at once, everywhere
_OFF = ("off", "false", "no", "0")


def site_words(context: Context, lookup: str, params: Sequence[Param], typed: Mapping[str, Any]) -> Words:
    """None where no site is selected, or it is switched off, or nothing is known yet.

    `params` and `typed` are those of the command; the program's own options stand in `context.options`.
    """
    try:
        site = context.site()
        if context.option("base-url") or is_off(context, site):
            return []
        table = suggested_words(context.catalog, lookup, site.deployment)
        needed = None if table is None else values_depended_on(table, params, typed, site.setting)
    except CallsheetError:
        return []
    if needed is None:
        return []
    key = [lookup, needed]
    cache = cache_of(context, site)
    entry = cache.read_words(key)
    if (entry is None or not entry.fresh) and cache.may_ask(key):
        asked = [{"name": each["name"], "lookup": each.get("lookup")} for each in params if each["name"] in needed]
        _start(context, {"site": context.option("site"), "lookup": lookup, "needed": needed, "params": asked})
    return entry.words if entry is not None else []


def is_off(context: Context, site: Site) -> bool:
    said = context.environ.get(f"{context.definition['prefix']}_COMPLETION", "")
    return site.setting("completion") is False or said.strip().casefold() in _OFF


def cache_of(context: Context, site: Site) -> WordCache:
    return WordCache(context.environ, context.program, site.name, site.identity)


def _start(context: Context, asked: dict[str, Any]) -> None:
    """In a process of its own, which nobody waits for and which prints nothing."""
    command = own_command(context.program)
    environ = {**context.environ, variable(context.program): "refresh"}
    told = json.dumps(asked).encode(errors="surrogatepass")  # not in its arguments, which others can read
    with contextlib.suppress(OSError):
        if not _spawned(command, environ, told):
            _opened(command, environ, told)


def _spawned(command: list[str], environ: Mapping[str, str], told: bytes) -> bool:
    """Whether the system can do it by one call: a person waits, and loading `subprocess` alone takes longer."""
    if sys.platform == "win32" or not hasattr(os, "posix_spawn") or len(told) > _FITS:
        return False
    reading, writing = os.pipe()
    try:
        streams: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, reading, 0)]
        streams += [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
        os.posix_spawn(command[0], command, environ, file_actions=streams, setsid=True)
        os.write(writing, told)
    except NotImplementedError:  # without `setsid`
        return False
    finally:
        os.close(reading)
        os.close(writing)
    return True


def _opened(command: list[str], environ: Mapping[str, str], told: bytes) -> None:
    import subprocess

    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environ, **streams, **detached)
    if process.stdin is not None:
        with process.stdin as pipe:
            pipe.write(told)
    process.returncode = 0  # it goes on without us, and is not waited for
