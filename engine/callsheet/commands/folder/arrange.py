"""Which page stands below which, and in which order."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..steps.beside import PAGES
from .navigation import Navigation, NavigationEntry
from .text import PageText, is_index, name_of

NUMBERS = re.compile(r"(\d+)")
LAST = float("inf")


class Place(NamedTuple):
    path: str
    title: str
    parent: str | None


class Arrangement(NamedTuple):
    """`folders`: the path of each directory, with a slash ("" for the root) → the path of its page."""

    places: list[Place]
    folders: dict[str, str]


def arrange(texts: Mapping[str, PageText], navigation: Navigation) -> Arrangement:
    return _Arranging(texts, navigation).arrangement()


class _Arranging:
    def __init__(self, texts: Mapping[str, PageText], navigation: Navigation) -> None:
        self.texts = texts
        self.titles = dict(navigation.titles)
        self.orders = dict(navigation.orders)
        self.folders = _folders(texts)
        self.own = {page: directory for directory, page in self.folders.items() if page != directory}
        self.parents: dict[str, str | None] = {}
        self.ranks: dict[str, int] = {}  # of what a navigation lists
        self._enter(navigation.entries, self.folders.get(""))

    def arrangement(self) -> Arrangement:
        below: dict[str | None, list[str]] = {}
        known: set[str] = set()
        pending = list(self.texts)
        while pending:  # with those made for directories that have pages
            path = pending.pop()
            if path in known:
                continue
            known.add(path)
            parent = self._parent(path)
            below.setdefault(parent, []).append(path)
            if parent is not None:
                pending.append(parent)
        places: list[Place] = []
        waiting: list[tuple[str | None, str]] = []

        def enter(parent: str | None) -> None:
            children = sorted(below.get(parent, []), key=self._rank)
            waiting.extend((parent, path) for path in reversed(children))

        enter(None)
        while waiting:
            parent, path = waiting.pop()
            places.append(Place(path, self._title(path), parent))
            enter(path)
        folders = {directory: page for directory, page in self.folders.items() if page in known}
        return Arrangement(self._apart(places), folders)

    def _apart(self, places: list[Place]) -> list[Place]:
        """Titles that came from names of files and directories, with that of the parent where others are the same."""
        counts = Counter(place.title.casefold() for place in places)
        titles = {place.path: place.title for place in places}

        def apart(place: Place) -> Place:
            text = self.texts.get(place.path)
            is_named = text.is_named if text is not None else place.path not in self.titles
            if counts[place.title.casefold()] == 1 or place.parent is None or not is_named:
                return place
            return place._replace(title=f"{place.title} ({titles[place.parent]})")

        return [apart(place) for place in places]

    def _title(self, path: str) -> str:
        text = self.texts.get(path)
        return text.title if text is not None else self.titles.get(path) or name_of(path)

    def _parent(self, path: str) -> str | None:
        if path in self.parents:
            return self.parents[path]
        directory = self.own.get(path)
        if directory == "":
            return None
        directory = posixpath.dirname((directory or path).rstrip("/"))
        key = directory + "/" if directory else ""
        found = self.folders.get(key)
        return None if found == path else found

    def _rank(self, path: str) -> tuple[int, float, list[tuple[int, str]]]:
        text = self.texts.get(path)
        directory = self.own.get(path, path)
        order = next((self.orders[key] for key in (path, directory) if key in self.orders), None)
        if order is None and text is not None:
            order = text.front.order
        name = posixpath.splitext(directory.rstrip("/"))[0]
        listed = self.ranks.get(path, len(self.ranks))
        return listed, LAST if order is None else order, natural(name.casefold())

    # --- what a navigation lists ---

    def _enter(self, entries: list[NavigationEntry], parent: str | None) -> None:
        for entry in entries:
            page = self._section(entry, parent) if entry.inside else entry.path
            if not page or page in self.ranks or (page not in self.texts and not entry.inside):
                continue
            self.ranks[page] = len(self.ranks)
            if page != parent:
                self.parents[page] = parent
            if entry.inside:
                self._enter(entry.inside, page)

    def _section(self, entry: NavigationEntry, parent: str | None) -> str:
        """The page of a section: its index, else that of the directory it is all of, else one of its own."""
        first = entry.inside[0].path
        if first in self.texts and is_index(first) and first != parent and first not in self.ranks:
            return first
        inside = list(_paths(entry.inside))
        directory = posixpath.commonpath(list(map(posixpath.dirname, inside))) if inside else ""
        page = self.folders.get(directory + "/", "") if directory else ""
        if not page.endswith("/") or page in self.ranks:
            page = (parent if parent and parent.endswith("/") else "") + entry.title.replace("/", "-") + "/"
        self.titles[page] = entry.title
        return page


def _paths(entries: list[NavigationEntry]) -> Iterable[str]:
    for entry in entries:
        if entry.inside:
            yield from _paths(entry.inside)
        elif entry.path.lower().endswith(PAGES) and not entry.path.startswith(("/", "..")):
            yield entry.path


def _folders(texts: Iterable[str]) -> dict[str, str]:
    """The page of each directory that has pages below it: its index, else the file of its name beside it, else none."""
    folders: dict[str, str] = {}
    for path in texts:
        directory = posixpath.dirname(path)
        while directory and directory + "/" not in folders:
            folders[directory + "/"] = directory + "/"
            directory = posixpath.dirname(directory)
    for path in sorted(filter(is_index, texts), key=lambda path: not posixpath.basename(path).lower().startswith("i")):
        directory = posixpath.dirname(path)
        key = directory + "/" if directory else ""
        if folders.get(key, key) == key:
            folders[key] = path
    for path in texts:
        key = posixpath.splitext(path)[0] + "/"
        if folders.get(key) == key:
            folders[key] = path
    return folders


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts 10 behind 9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in NUMBERS.split(name[:500])]
