"""Words of a site, kept in small private files, so that a shell never waits for the site.

One file for each list: who asked for what, when, and the words with their explanations. They are names and keys, never
a credential. What others could have written is not read.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from time import time
from typing import Any, NamedTuple
from zlib import crc32

from ...errors import CallsheetError
from ...files import changeable_by_others, make_private_directory, open_regular, write_atomically
from ...paths import cache_directory

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
        self.directory = _directory(environ, program, site)
        self._identity = identity

    def read_words(self, key: Any) -> Entry | None:
        path = self._path(key)
        if changeable_by_others(path) is not None:  # somebody else may have written it
            return None
        try:
            with open_regular(path) as file:
                kept = json.loads(file.read(_LARGEST))
            if kept["key"] != self._whole(key):
                return None
            age = time() - kept["at"]
            words = [(str(word), str(help)) for word, help in kept["words"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Entry(words, 0 <= age < FRESH) if age < _KEPT else None

    def write_words(self, key: Any, words: Words) -> None:
        """Raises `CallsheetError` where nothing can be written."""
        content = json.dumps({"key": self._whole(key), "at": time(), "words": words}).encode()
        if len(content) < _LARGEST:
            write_atomically(self._path(key), content, follow=False)
        _remove_oldest(self.directory)

    def may_ask(self, key: Any) -> bool:
        """Whether nobody has tried within the last minute; from now on somebody has."""
        path = f"{self._path(key)}.asked"
        try:
            if 0 <= time() - os.stat(path).st_mtime < _PAUSE:
                return False
        except OSError:
            pass
        try:
            make_private_directory(self.directory)
            with open(path, "wb", opener=_private):
                os.utime(path)
        except (CallsheetError, OSError):  # without a place for the answer there is nothing to ask for
            return False
        return True

    def _path(self, key: Any) -> str:
        return os.path.join(self.directory, f"{crc32(json.dumps(self._whole(key)).encode()):08x}{_ENDING}")

    def _whole(self, key: Any) -> list[Any]:
        whole: list[Any] = json.loads(json.dumps([self._identity, key]))  # as it comes back from a file
        return whole


def forget_words(environ: Mapping[str, str], program: str, site: str) -> None:
    """Remove what is kept of a site."""
    directory = _directory(environ, program, site)
    for name in _names(directory):
        with contextlib.suppress(OSError):
            os.remove(os.path.join(directory, name))


def _directory(environ: Mapping[str, str], program: str, site: str) -> str:
    return os.path.join(cache_directory(environ), "completion", f"{program}-{crc32(site.encode()):08x}")


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _remove_oldest(directory: str) -> None:
    names = _names(directory)
    if len(names) <= _MOST_FILES:
        return
    for _, path in sorted(_ages(directory, names))[: -_MOST_FILES // 2]:
        with contextlib.suppress(OSError):
            os.remove(path)


def _ages(directory: str, names: Sequence[str]) -> Iterator[tuple[float, str]]:
    for name in names:
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError):
            yield os.stat(path).st_mtime, path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
