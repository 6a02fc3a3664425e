"""The directory as pages: which there are, below which other, and what they link to and show."""

from __future__ import annotations

import hashlib

from ...collector import without_collector
from ...errors import did_you_mean
from .addresses import AddressBook, LeadsNowhereError
from .anchors import named_headings
from .arrange import Arrangement, Place, arrange
from .attached import attached_files
from .model import Folder, FolderPage, FolderProblem, FolderSettings, PageFile, PageLink, Reference
from .navigation import Navigation, site_of, take_beside
from .text import PageText, TextReader
from .walk import Files, walk_directory


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
        for path in self.files.pages([*self.navigation.exclude, *self.settings.exclude]):
            text = self.reader.read_page(path, self.files.found[path])
            if text.front.is_draft:  # which no list of a site has: the next run would make it again
                self._tell(path, 0, "is a draft: it is left out until its front matter says otherwise")
            elif text.front.published:
                self.texts[path] = text
                self.problems += text.problems
        arranged = arrange(self.texts, self.navigation)
        self._follow(arranged)
        self._settle_anchors()
        titles = {place.path: self.settings.title_prefix + place.title for place in arranged.places}
        self._refuse_same(titles, "the title", "titles must differ, give one in the front matter")
        ids = {path: text.front.id for path, text in self.texts.items() if text.front.id is not None}
        self._refuse_same(ids, "the page-id", "take it out of the front matter of one of them")
        pages = tuple(self._page(place, titles) for place in arranged.places)
        problems = tuple(sorted(dict.fromkeys(self.problems), key=lambda problem: (problem.path, problem.line)))
        return Folder(self.files.root, self.settings, pages, problems)

    # --- links and files ---

    def _follow(self, arranged: Arrangement) -> None:
        """Finds what the addresses of each page lead to."""
        book = AddressBook(self.files.found, arranged.folders)
        for path, text in self.texts.items():
            links: list[tuple[PageLink, int]] = []
            shown: dict[str, list[Reference]] = {}
            for address, line in zip(text.addresses, text.lines, strict=False):
                try:
                    target = book.target(path, address.address)
                except LeadsNowhereError as error:
                    kind = "image" if address.image else "link"
                    self._tell(path, line, f"the {kind} to {address.address!r} does not work: it {error}")
                    continue
                if target is None:
                    continue
                if target.path in self.texts or target.path.endswith("/"):
                    links.append((PageLink(address.start, address.end, target.path, target.anchor, address.html), line))
                elif (target.path in self.files.found) and not self.files.is_page(target.path):
                    reference = Reference(address.start, address.end, address.image, address.html)
                    shown.setdefault(target.path, []).append(reference)
                else:
                    self._tell(path, line, f"the link to {address.address!r} does not work: that page is left out")
            self.links[path] = links
            self.attached[path] = self._attached(text, shown)

    def _attached(self, text: PageText, shown: dict[str, list[Reference]]) -> list[PageFile]:
        found, problems = attached_files(text, shown, self.files.found, self._hash, self.settings)
        self.problems += problems
        return found

    def _hash(self, path: str) -> str:
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
        headings, elements = self.reader.headings(text) if text is not None else ([], set[str]())
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
                self._tell(page, line, f"the link to {link.path + '#' + link.anchor!r} does not work: {why}")
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

    def _page(self, place: Place, titles: dict[str, str]) -> FolderPage:
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
        )

    def _tell(self, path: str, line: int, message: str) -> None:
        self.problems.append(FolderProblem(path, line, message))


def named_headings_of(words: str) -> dict[str, int]:
    from ...richtext.markdown.places import Heading

    return named_headings([Heading(1, words, "", 0, 0, 0)])[1]
