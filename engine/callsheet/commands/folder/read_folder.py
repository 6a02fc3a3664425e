"""A folder of Markdown as pages: their order, their links, and the files beside them."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from ...collector import without_collector
from ...errors import did_you_mean
from ...richtext.markdown.addresses import ABSOLUTE
from ..steps.parameter_scope import PAGES, UNSAFE
from .local_page import (
    Diagram,
    Folder,
    FolderPage,
    FolderProblem,
    FolderSettings,
    PageFile,
    PageLink,
    PageText,
    Reference,
    TextReader,
    is_index,
    name_of,
    named_headings,
)
from .walk_folder import PROGRAMS, Files, Navigation, NavigationEntry, site_of, take_beside, walk_directory

# Which page stands below which, and in which order.


NUMBERS = re.compile(r"(\d+)")
LAST = float("inf")


class Place(NamedTuple):
    path: str
    title: str
    parent: str | None
    is_ordered: bool  # something says its place beside its name


class Arrangement(NamedTuple):
    """`folders`: the path of each directory, with a slash ("" for the root) → the path of its page."""

    places: list[Place]
    folders: dict[str, str]


def arrange_pages(texts: Mapping[str, PageText], navigation: Navigation) -> Arrangement:
    return _Arranging(texts, navigation).arrangement()


class _Arranging:
    def __init__(self, texts: Mapping[str, PageText], navigation: Navigation) -> None:
        self.texts = texts
        self.titles = dict(navigation.titles)
        self.orders = dict(navigation.orders)
        self.folders = _directory_pages(texts)
        self.own = {page: directory for directory, page in self.folders.items() if page != directory}
        self.parents: dict[str, str | None] = {}
        self.ranks: dict[str, int] = {}  # of what a navigation lists
        self._enter_entries(navigation.entries, self.folders.get(""))

    def arrangement(self) -> Arrangement:
        below: dict[str | None, list[str]] = {}
        known: set[str] = set()
        pending = list(self.texts)
        while pending:  # with those made for directories that have pages
            path = pending.pop()
            if path in known:
                continue
            known.add(path)
            parent = self._parent_path(path)
            below.setdefault(parent, []).append(path)
            if parent is not None:
                pending.append(parent)
        places: list[Place] = []
        waiting: list[tuple[str | None, str]] = []

        def enter(parent: str | None) -> None:
            children = sorted(below.get(parent, []), key=self._sort_rank)
            waiting.extend((parent, path) for path in reversed(children))

        enter(None)
        while waiting:
            parent, path = waiting.pop()
            listed, order, _ = self._sort_rank(path)
            is_ordered = listed < len(self.ranks) or order != LAST
            places.append(Place(path, self._page_title(path), parent, is_ordered))
            enter(path)
        folders = {directory: page for directory, page in self.folders.items() if page in known}
        return Arrangement(self._tell_titles_apart(places), folders)

    def _tell_titles_apart(self, places: list[Place]) -> list[Place]:
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

    def _page_title(self, path: str) -> str:
        text = self.texts.get(path)
        return text.title if text is not None else self.titles.get(path) or name_of(path)

    def _parent_path(self, path: str) -> str | None:
        if path in self.parents:
            return self.parents[path]
        directory = self.own.get(path)
        if directory == "":
            return None
        directory = posixpath.dirname((directory or path).rstrip("/"))
        key = directory + "/" if directory else ""
        found = self.folders.get(key)
        return None if found == path else found

    def _sort_rank(self, path: str) -> tuple[int, float, list[tuple[int, str]]]:
        text = self.texts.get(path)
        directory = self.own.get(path, path)
        order = next((self.orders[key] for key in (path, directory) if key in self.orders), None)
        if order is None and text is not None:
            order = text.front.order
        name = posixpath.splitext(directory.rstrip("/"))[0]
        listed = self.ranks.get(path, len(self.ranks))
        return listed, LAST if order is None else order, natural_key(name.casefold())

    # --- what a navigation lists ---

    def _enter_entries(self, entries: list[NavigationEntry], parent: str | None) -> None:
        for entry in entries:
            page = self._section_page(entry, parent) if entry.inside else entry.path
            if not page or page in self.ranks or (page not in self.texts and not entry.inside):
                continue
            self.ranks[page] = len(self.ranks)
            if page != parent:
                self.parents[page] = parent
            if entry.inside:
                self._enter_entries(entry.inside, page)

    def _section_page(self, entry: NavigationEntry, parent: str | None) -> str:
        """The page of a section: its index or first page of its title, else its directory's, else one of its own."""
        first = entry.inside[0].path
        if first in self.texts and first != parent and first not in self.ranks:
            title = self.titles.get(first) or self.texts[first].title
            if is_index(first) or title.casefold() == entry.title.casefold():
                return first
        inside = list(_entry_paths(entry.inside))
        directory = posixpath.commonpath(list(map(posixpath.dirname, inside))) if inside else ""
        page = self.folders.get(directory + "/", "") if directory else ""
        if not page.endswith("/") or page in self.ranks:
            page = (parent if parent and parent.endswith("/") else "") + entry.title.replace("/", "-") + "/"
        self.titles[page] = entry.title
        return page


def _entry_paths(entries: list[NavigationEntry]) -> Iterable[str]:
    for entry in entries:
        if entry.inside:
            yield from _entry_paths(entry.inside)
        elif entry.path.lower().endswith(PAGES) and not entry.path.startswith(("/", "..")):
            yield entry.path


def _directory_pages(texts: Iterable[str]) -> dict[str, str]:
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


def natural_key(name: str) -> list[tuple[int, str]]:
    """A key that puts 10 behind 9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in NUMBERS.split(name[:500])]


# The files that go along with a page, each under a name that no other of the page has.


def attached_files(
    text: PageText,
    shown: Mapping[str, list[Reference]],
    found: Mapping[str, str],
    hash_of: Callable[[str], str],
    settings: FolderSettings,
) -> tuple[list[PageFile], list[FolderProblem]]:
    files: list[PageFile] = []
    problems: list[FolderProblem] = []
    names = unique_names(shown)
    for path, references in shown.items():
        try:
            digest = hash_of(path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            problems.append(FolderProblem(path, 0, f"cannot be read: {reason}", stops=True))
            continue
        files.append(PageFile(found[path], names[path], digest, tuple(references)))
    return files + _diagram_files(text, settings), problems


def unique_names(paths: Mapping[str, object]) -> dict[str, str]:
    """A name for each path: its last part, or all of it where others of the page end in the same one.

    A name depends on nothing but what the page shows, so it is the same the next time.
    """
    short = {path: UNSAFE.sub("-", posixpath.basename(path)) for path in paths}
    counts = Counter(name.casefold() for name in short.values())
    names = {
        path: name if counts[name.casefold()] == 1 else UNSAFE.sub("-", path.replace("/", "-"))
        for path, name in short.items()
    }
    counts = Counter(name.casefold() for name in names.values())
    return {path: name if counts[name.casefold()] == 1 else _hashed_name(path, name) for path, name in names.items()}


def _hashed_name(path: str, name: str) -> str:
    stem, suffix = posixpath.splitext(name)
    return f"{stem}-{hashlib.sha256(path.encode()).hexdigest()[:8]}{suffix}"


def _diagram_files(text: PageText, settings: FolderSettings) -> list[PageFile]:
    made: dict[str, PageFile] = {}
    for fence, line in zip(text.fences, text.lines[len(text.addresses) :], strict=True):
        program = settings.programs[fence.language]
        decides = json.dumps([program.run, program.format, fence.language, fence.content]).encode()
        key = hashlib.sha256(decides).hexdigest()
        reference = Reference(fence.start, fence.end, image=True, html=False, block=True)
        known = made.get(key)
        references = (*known.references, reference) if known else (reference,)
        name = f"{UNSAFE.sub('-', fence.language)}-{key[:16]}.{program.format}"
        path = os.path.join(settings.cache, f"{key}.{program.format}")
        diagram = known.diagram if known else Diagram(fence.language, fence.content, line, program)
        made[key] = PageFile(path, name, key, references, diagram)
    return list(made.values())


# Which file of the directory an address in a page leads to.


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

    def resolve_address(self, page: str, address: str) -> Target | None:
        """Where an address leads; None for one that is whole. Raises `LeadsNowhereError`."""
        if address.startswith("#"):
            return Target(page, unquote(address[1:]))
        if ABSOLUTE.match(address):
            return None
        whole, _, anchor = address.partition("#")
        words = [whole, SAID.split(whole)[0]]
        base = posixpath.dirname(page)
        for word in dict.fromkeys(unquote(word) for word in words):
            if found := self._file_path(base, word):
                return Target(found, unquote(anchor))
        raise LeadsNowhereError(self._missing_reason(base, unquote(words[-1])))

    def _file_path(self, base: str, words: str) -> str | None:
        path = _join_path(base, words)
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

    def _missing_reason(self, base: str, words: str) -> str:
        path = _join_path(base, words)
        if path is None:
            return "is outside of the directory"
        if "\\" in words:
            return "does not exist: write / between names"
        if words.startswith("/"):
            return "does not exist: it starts at the top of the directory"
        if other := self._folded.get(path.casefold()):
            return f"does not exist, but {other!r} does: upper and lower case differ"
        return "does not exist" + self._closest_path(base, path)

    def _closest_path(self, base: str, path: str) -> str:
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


def _join_path(base: str, words: str) -> str | None:
    """The path from the root; None where it leaves it."""
    if "\0" in words:
        return None
    words = unicodedata.normalize("NFC", words)
    path = posixpath.normpath(words.lstrip("/") if words.startswith("/") else posixpath.join(base, words))
    return None if path == ".." or path.startswith("../") else path.removesuffix("/")


# The directory as pages: which there are, below which other, and what they link to and show.


def read_folder(root: str, settings: FolderSettings) -> Folder:
    """Raises `UsageError` for a root that is no directory."""
    with without_collector():
        where, navigation = site_of(root)
        return _Reading(walk_directory(where), settings, navigation).folder()


class _Reading:
    def __init__(self, files: Files, settings: FolderSettings, navigation: Navigation) -> None:
        self.files = files
        self.settings = settings
        self.reader = TextReader(settings.programs)
        self.navigation = navigation
        for directory, path in files.beside:
            take_beside(navigation, directory, path)
        self.problems = [*files.problems, *navigation.problems]
        self.texts: dict[str, PageText] = {}
        self.links: dict[str, list[tuple[PageLink, int]]] = {}
        self.attached: dict[str, list[PageFile]] = {}
        self.names: dict[str, dict[int, str]] = {}  # path → index of a heading → the name that is put there
        self.anchors: dict[str, list[tuple[int, str]]] = {}
        self._hashes: dict[str, str] = {}

    def folder(self) -> Folder:
        for path in self.files.page_paths([*self.navigation.exclude, *self.settings.exclude]):
            text = self.reader.read_page(path, self.files.found[path])
            if text.front.is_draft:  # which no list of a site has: the next run would make it again
                self._tell_problem(path, 0, "is a draft: it is left out until its front matter says otherwise")
            elif text.front.published:
                self.texts[path] = text
                self.problems += text.problems
        arranged = arrange_pages(self.texts, self.navigation)
        self._follow_addresses(arranged)
        self._settle_anchors()
        titles = {place.path: self.settings.title_prefix + place.title for place in arranged.places}
        self._refuse_same(titles, "the title", "titles must differ, give one in the front matter")
        ids = {path: text.front.id for path, text in self.texts.items() if text.front.id is not None}
        self._refuse_same(ids, "the page-id", "take it out of the front matter of one of them")
        pages = tuple(self._folder_page(place, titles) for place in arranged.places)
        problems = tuple(sorted(dict.fromkeys(self.problems), key=lambda problem: (problem.path, problem.line)))
        return Folder(self.files.root, self.settings, pages, problems)

    # --- links and files ---

    def _follow_addresses(self, arranged: Arrangement) -> None:
        """Finds what the addresses of each page lead to."""
        book = AddressBook(self.files.found, arranged.folders)
        for path, text in self.texts.items():
            links: list[tuple[PageLink, int]] = []
            shown: dict[str, list[Reference]] = {}
            for address, line in zip(text.addresses, text.lines, strict=False):
                try:
                    target = book.resolve_address(path, address.address)
                except LeadsNowhereError as error:
                    kind = "image" if address.image else "link"
                    self._tell_problem(path, line, f"the {kind} to {address.address!r} does not work: it {error}")
                    continue
                if target is None:
                    continue
                if target.path in self.texts or target.path.endswith("/"):
                    links.append((PageLink(address.start, address.end, target.path, target.anchor, address.html), line))
                elif (target.path in self.files.found) and not self.files.is_page(target.path):
                    reference = Reference(address.start, address.end, address.image, address.html)
                    shown.setdefault(target.path, []).append(reference)
                else:
                    self._tell_problem(
                        path, line, f"the link to {address.address!r} does not work: that page is left out"
                    )
            self.links[path] = links
            self.attached[path] = self._attached_files(text, shown)

    def _attached_files(self, text: PageText, shown: dict[str, list[Reference]]) -> list[PageFile]:
        found, problems = attached_files(text, shown, self.files.found, self._file_hash, self.settings)
        self.problems += problems
        return found

    def _file_hash(self, path: str) -> str:
        if path not in self._hashes:
            with open(self.files.found[path], "rb") as file:
                self._hashes[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._hashes[path]

    def _settle_anchors(self) -> None:
        """Makes each anchor of a link the name of its heading, which is put there where the text does not say it."""
        wanted: dict[str, list[tuple[str, int]]] = {}
        for path, links in self.links.items():
            for index, (link, _line) in enumerate(links):
                if link.anchor:
                    wanted.setdefault(link.path, []).append((path, index))
        for path, places in wanted.items():
            self._settle(path, places)

    def _settle(self, path: str, places: list[tuple[str, int]]) -> None:
        text = self.texts.get(path)
        headings, elements = self.reader.read_headings(text) if text is not None else ([], set[str]())
        names, known = named_headings(headings)
        put: dict[int, tuple[int, str]] = {}
        for page, index in places:
            link, line = self.links[page][index]
            found = known.get(link.anchor, known.get(link.anchor.lower()))
            anchor = link.anchor
            if found is not None:
                anchor = names[found]
                if not headings[found].name:
                    put[found] = headings[found].words_end, anchor
            elif text is not None and text.heading and link.anchor in named_headings_of(text.heading):
                anchor = ""
            else:
                why = f"no such heading{did_you_mean(link.anchor, known)}"
                if link.anchor in elements:
                    why = f"only headings keep a name, write {{#{link.anchor}}} behind one"
                self._tell_problem(page, line, f"the link to {link.path + '#' + link.anchor!r} does not work: {why}")
            self.links[page][index] = link._replace(anchor=anchor), line
        self.anchors[path] = sorted(put.values())

    # --- pages ---

    def _refuse_same(self, said: dict[str, str], what: str, instead: str) -> None:
        first: dict[str, str] = {}
        for path, words in said.items():
            other = first.setdefault(words.casefold(), path)
            if other != path:
                message = f"has {what} {words!r}, as {other} has: {instead}"
                self.problems.append(FolderProblem(path, 0, message, stops=True))
            elif not words.strip():
                self.problems.append(FolderProblem(path, 0, f"{what} is empty: {instead}", stops=True))

    def _folder_page(self, place: Place, titles: dict[str, str]) -> FolderPage:
        path = place.path
        text = self.texts.get(path)
        links = tuple(link for link, _line in self.links.get(path, ()))
        files = tuple(self.attached.get(path, ()))
        anchors = tuple(self.anchors.get(path, ()))
        return FolderPage(
            path=path,
            title=titles[path],
            parent=place.parent,
            id=text.front.id if text is not None else None,
            fields=dict(text.front.fields) if text is not None else {},
            links=links,
            files=files,
            anchors=anchors,
            first_line=text.first_line if text is not None else 1,
            file=text.file if text is not None else "",
            cut=text.cut if text is not None else 0,
            digest=text.digest if text is not None else b"",
            is_ordered=place.is_ordered,
        )

    def _tell_problem(self, path: str, line: int, message: str) -> None:
        self.problems.append(FolderProblem(path, line, message))


def named_headings_of(words: str) -> dict[str, int]:
    from ...richtext.markdown.places import Heading

    return named_headings([Heading(1, words, "", 0, 0, 0)])[1]
