"""Words of the site for a parameter: those that are kept at once; what is missing or old is asked for."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from ...commands.context import Context
from ...errors import CallsheetError
from ...files import changeable_by_others, make_private_directory, open_regular, write_atomically
from ...installation import own_command
from ...language.merge import on_deployment
from ...language.parameters import to_identifier
from ...paths import cache_directory
from ...patterns import lazy_pattern
from ...registry import SITE_SETTINGS
from .shells import completion_variable

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.commands import Param
    from ...language.shape.steps import ListedWords
    from ...sites.site import Site


# Words of a site, kept in small private files, so that a shell never waits for the site.
#
# One file for each list: who asked for what, when, and the words with their explanations. They are names and keys,
# never a credential. What others could have written is not read.


FRESH = 600  # seconds before a list is asked for again
_KEPT = 7 * 86_400  # seconds before a list that could not be asked for again is not offered any more
_PAUSE = 60  # seconds between two attempts
_MOST_FILES = 200
_LARGEST = 1 << 18  # bytes
_ENDING = ".json"

Words = Sequence[tuple[str, str]]  # each with an explanation, which may be empty


class Entry(NamedTuple):
    words: Words
    fresh: bool


class WordCache:
    """The lists of one site, as one person sees it there: `identity` tells both."""

    def __init__(self, environ: Mapping[str, str], program: str, site: str, identity: Any) -> None:
        self.directory = _cache_directory(environ, program, site)
        self._identity = identity

    def read_words(self, key: Any) -> Entry | None:
        path = self._file_path(key)
        if changeable_by_others(path) is not None:  # somebody else may have written it
            return None
        try:
            with open_regular(path) as file:
                kept = json.loads(file.read(_LARGEST))
            if kept["key"] != self._read_whole(key):
                return None
            age = time() - kept["at"]  # below 0 where the clock was set back: not fresh
            words = [(str(word), str(help)) for word, help in kept["words"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Entry(words, 0 <= age < FRESH) if age < _KEPT else None

    def write_words(self, key: Any, words: Words) -> None:
        """Raises `CallsheetError` where nothing can be written."""
        content = json.dumps({"key": self._read_whole(key), "at": time(), "words": words}).encode()
        if len(content) < _LARGEST:
            write_atomically(self._file_path(key), content, follow=False)
        _remove_oldest(self.directory)

    def may_ask(self, key: Any) -> bool:
        """Whether nobody has tried within the last minute; from now on somebody has."""
        path = f"{self._file_path(key)}.asked"
        try:
            if 0 <= time() - os.stat(path).st_mtime < _PAUSE:
                return False
        except OSError:
            pass
        try:
            make_private_directory(self.directory)
            with open(path, "wb", opener=_open_private):
                os.utime(path)
        except (CallsheetError, OSError):  # without a place for the answer there is nothing to ask for
            return False
        return True

    def _file_path(self, key: Any) -> str:
        return os.path.join(self.directory, f"{crc32(json.dumps(self._read_whole(key)).encode()):08x}{_ENDING}")

    def _read_whole(self, key: Any) -> list[Any]:
        whole: list[Any] = json.loads(json.dumps([self._identity, key]))  # as it comes back from a file
        return whole


def forget_words(environ: Mapping[str, str], program: str, site: str) -> None:
    """Remove what is kept of a site."""
    directory = _cache_directory(environ, program, site)
    for name in _file_names(directory):
        with contextlib.suppress(OSError):
            os.remove(os.path.join(directory, name))


def _cache_directory(environ: Mapping[str, str], program: str, site: str) -> str:
    return os.path.join(cache_directory(environ), "completion", f"{program}-{crc32(site.encode()):08x}")


def _file_names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _remove_oldest(directory: str) -> None:
    names = _file_names(directory)
    if len(names) <= _MOST_FILES:
        return
    for _, path in sorted(_file_ages(directory, names))[: -_MOST_FILES // 2]:
        with contextlib.suppress(OSError):
            os.remove(path)


def _file_ages(directory: str, names: Sequence[str]) -> Iterator[tuple[float, str]]:
    for name in names:
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError):
            yield os.stat(path).st_mtime, path


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


# Which words of a site complete a parameter, as the definition of its lookup says.


_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")


def suggested_words(catalog: Catalog, lookup: str, deployment: str) -> ListedWords | None:
    """The lookup as it lists words: `call`, `args`, `items`, `where`, `word` and `label`; None where it does not.

    A lookup that says nothing of it lists what it calls, where that call is not for one word and a candidate is found
    by its label.
    """
    here = on_deployment(catalog.lookups.get(lookup), deployment)
    said = here.get("suggest", {})
    left = ("args", "items", "where") if "call" in said else ()  # another call, with arguments and an answer of its own
    found = cast("ListedWords", {**{key: value for key, value in here.items() if key not in left}, **said})
    if found.get("label") in here.get("match", ()):
        found.setdefault("word", found["label"])
    needs_word = "word" in names_in(found.get("args"))
    return found if "call" in found and "word" in found and not needs_word else None


def names_in(value: Any) -> set[str]:
    """Every name in the expressions of a value, and some words that are none: enough to see what it may depend on."""
    if isinstance(value, str):
        return set(_NAME.findall(value[value.find("{") :])) if "{" in value else set()
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return {name for part in parts for name in names_in(part)}


def values_depended_on(
    table: ListedWords, params: Sequence[Param], typed: Mapping[str, Any], setting: Any
) -> dict[str, str] | None:
    """Parameter → what was typed for it, or is the site's setting, of those that the list depends on.

    None where one is missing. Of several values the first one counts.
    """
    names = names_in(table.get("args"))
    found: dict[str, str] = {}
    for name in {*(each["name"] for each in params), *SITE_SETTINGS}:
        if to_identifier(name) not in names:
            continue
        value = typed.get(name)
        word = next(iter(value), None) if isinstance(value, list | tuple) else value
        if not word and name in SITE_SETTINGS:
            word = setting(name)
        if not word:
            return None
        found[name] = str(word)
    return found


# Words of the site for a parameter: those of the cache, at once; what is missing or old is asked for behind it.


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
        needed = None if table is None else values_depended_on(table, params, typed, site.default_of)
    except CallsheetError:
        return []
    if needed is None:
        return []
    key = [lookup, needed]
    cache = cache_of(context, site)
    entry = cache.read_words(key)
    if (entry is None or not entry.fresh) and cache.may_ask(key):
        asked = [{"name": each["name"], "lookup": each.get("lookup")} for each in params if each["name"] in needed]
        _start_refresh(context, {"site": context.option("site"), "lookup": lookup, "needed": needed, "params": asked})
    return entry.words if entry is not None else []


def is_off(context: Context, site: Site) -> bool:
    said = context.environ.get(f"{context.definition['prefix']}_COMPLETION", "")
    return site.default_of("completion") is False or said.strip().casefold() in _OFF


def cache_of(context: Context, site: Site) -> WordCache:
    return WordCache(context.environ, context.program, site.name, site.identity_key)


def _start_refresh(context: Context, asked: dict[str, Any]) -> None:
    """In a process of its own, which nobody waits for and which prints nothing."""
    command = own_command(context.program)
    environ = {**context.environ, completion_variable(context.program): "refresh"}
    message = json.dumps(asked).encode(errors="surrogatepass")  # not in its arguments, which others can read
    with contextlib.suppress(OSError):
        if not _spawn_process(command, environ, message):
            _open_process(command, environ, message)


def _spawn_process(command: list[str], environ: Mapping[str, str], message: bytes) -> bool:
    """Whether the system can do it by one call: a person waits, and loading `subprocess` alone takes longer."""
    if sys.platform == "win32" or not hasattr(os, "posix_spawn") or len(message) > _FITS:
        return False
    reading, writing = os.pipe()
    try:
        streams: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, reading, 0)]
        streams += [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
        os.posix_spawn(command[0], command, environ, file_actions=streams, setsid=True)
        os.write(writing, message)
    except NotImplementedError:  # without `setsid`
        return False
    finally:
        os.close(reading)
        os.close(writing)
    return True


def _open_process(command: list[str], environ: Mapping[str, str], message: bytes) -> None:
    import subprocess

    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environ, **streams, **detached)
    if process.stdin is not None:
        with process.stdin as pipe:
            pipe.write(message)
    process.returncode = 0  # it goes on without us, and is not waited for
