"""Which file of the directory an address in a page leads to."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from ...errors import did_you_mean
from ...richtext.markdown.relative import ABSOLUTE
from ..steps.beside import PAGES
from .walk import PROGRAMS

SAID = re.compile(r"[?#]")
MOST_LOOKED_UP = 100  # for closest matches, each of which takes a look at many names


class LeadsNowhereError(ValueError):
    """The argument is why, as in `does not exist`."""


class Target(NamedTuple):
    path: str  # of a file, or of a directory with a slash at its end
    anchor: str


class AddressBook:
    """`found`: the files of the directory; `folders`: its directories that have pages."""

    def __init__(self, found: Mapping[str, str], folders: Mapping[str, str]) -> None:
        self._found = found
        self._folders = folders
        self._folded: dict[str, str] = {}
        self._named: dict[str, list[str]] = {}
        for path in found:
            self._folded.setdefault(path.casefold(), path)
            self._named.setdefault(posixpath.basename(path).casefold(), []).append(path)
        self._looked_up = 0

    def target(self, page: str, address: str) -> Target | None:
        """Where an address leads; None for one that is whole. Raises `LeadsNowhereError`."""
        if address.startswith("#"):
            return Target(page, unquote(address[1:]))
        if ABSOLUTE.match(address):
            return None
        whole, _, anchor = address.partition("#")
        words = [whole, SAID.split(whole)[0]]
        base = posixpath.dirname(page)
        for word in dict.fromkeys(unquote(word) for word in words):
            if found := self._file(base, word):
                return Target(found, unquote(anchor))
        raise LeadsNowhereError(self._reason(base, unquote(words[-1])))

    def _file(self, base: str, words: str) -> str | None:
        path = _joined(base, words)
        if path is None:
            return None
        if path in self._found:
            return path
        if path + "/" in self._folders or path in ("", "."):
            return self._folders.get(path.strip(".") + "/" if path.strip(".") else "")
        if not posixpath.splitext(path)[1]:  # as generators of sites let one write
            for suffix in (*PAGES, *PROGRAMS):
                if path + suffix in self._found:
                    return path + suffix
        return None

    def _reason(self, base: str, words: str) -> str:
        path = _joined(base, words)
        if path is None:
            return "is outside of the directory"
        if "\\" in words:
            return "does not exist: write / between names"
        if words.startswith("/"):
            return "does not exist: it starts at the top of the directory"
        if other := self._folded.get(path.casefold()):
            return f"does not exist, but {other!r} does, in other letters"
        return "does not exist" + self._closest(base, path)

    def _closest(self, base: str, path: str) -> str:
        self._looked_up += 1
        if self._looked_up > MOST_LOOKED_UP:
            return ""
        same = self._named.get(posixpath.basename(path).casefold())
        if same:
            return f", did you mean {posixpath.relpath(same[0], base or '.')!r}?"
        folder = posixpath.dirname(path)
        near = posixpath.relpath(folder or ".", base or ".")
        prefix = "" if near == "." else f"{near}/"
        beside = [prefix + posixpath.basename(name) for name in self._found if posixpath.dirname(name) == folder]
        return did_you_mean(prefix + posixpath.basename(path), beside[:2000])


def _joined(base: str, words: str) -> str | None:
    """The path from the root; None where it leaves it."""
    if "\0" in words:
        return None
    words = unicodedata.normalize("NFC", words)
    path = posixpath.normpath(words.lstrip("/") if words.startswith("/") else posixpath.join(base, words))
    return None if path == ".." or path.startswith("../") else path.removesuffix("/")
