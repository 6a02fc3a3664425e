"""Words of the site for a parameter: those of the cache, at once; what is missing or old is asked for behind it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...commands.context import Context
from ...errors import CallsheetError
from ...installation import own_command
from .shells import variable
from .suggested import dependencies, suggested
from .word_cache import WordCache, Words

if TYPE_CHECKING:
    from ...language.shape.commands import Param
    from ...sites.site import Site

_OFF = ("off", "false", "no", "0")


def site_words(context: Context, lookup: str, params: Sequence[Param], typed: Mapping[str, Any]) -> Words:
    """None where no site is selected, or it is switched off, or nothing is known yet.

    `params` and `typed` are those of the command; the program's own options stand in `context.options`.
    """
    try:
        site = context.site()
        if context.option("base-url") or is_off(context, site):
            return []
        table = suggested(context.catalog, lookup, site.deployment)
        needed = None if table is None else dependencies(table, params, typed, site.setting)
    except CallsheetError:
        return []
    if needed is None:
        return []
    key = [lookup, needed]
    cache = cache_of(context, site)
    entry = cache.read(key)
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
    import subprocess

    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    environ = {**context.environ, variable(context.program): "refresh"}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        process = subprocess.Popen(own_command(context.program), env=environ, **streams, **detached)
        if process.stdin is not None:
            with process.stdin as pipe:  # not in its arguments, which others can read
                pipe.write(json.dumps(asked).encode(errors="surrogatepass"))
    except OSError:
        return
    process.returncode = 0  # it goes on without us, and is not waited for
