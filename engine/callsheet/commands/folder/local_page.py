"""One page of a folder: its front matter, its text, and what stands in its place on the site."""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

from ...errors import UsageError, slip_of
from ...richtext.lossless_markers import OURS
from ...richtext.markdown.front_matter import front_matter_fault, split_front_matter, without_front_matter
from ...richtext.markdown.inline_writer import link_target
from ...richtext.markdown.places import PLAIN, Address, Fence, Heading, PlaceReader, Places, replace_ranges

# What a directory says: its pages, what they link to and show, and what is wrong.


class FolderProblem(NamedTuple):
    """`stops`: the page cannot be published so; else something of it will be missing or not work."""

    path: str
    line: int  # 0: the whole file
    message: str
    stops: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class DiagramProgram(NamedTuple):
    """A program of the person's that makes a picture of a block of code; see `pictures.py`."""

    run: tuple[str, ...]
    format: str
    timeout: float


@dataclass(frozen=True)
class FolderSettings:
    """How a directory is read. `programs` (language of code → program) are the person's own, never the directory's."""

    exclude: tuple[str, ...] = ()
    title_prefix: str = ""
    programs: Mapping[str, DiagramProgram] = field(default_factory=dict)
    cache: str = ""  # the directory of rendered pictures


class PageLink(NamedTuple):
    """The address of a link in a body, from `start` to `end`, leads to the page `path` and the place `anchor` on it."""

    start: int
    end: int
    path: str
    anchor: str
    html: bool  # in quotes, in a tag


class Reference(NamedTuple):
    """Where a body names a file. With `block`, a block of code stands there, and the file takes its place."""

    start: int
    end: int
    image: bool
    html: bool
    block: bool = False


@dataclass(frozen=True, slots=True)
class Diagram:
    """A block of code that a program makes a picture of."""

    language: str
    code: str
    line: int
    program: DiagramProgram


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that goes along with a page.

    `path` is where it is read from. `name` is unique on the page. `sha256` is that of its content; of a picture that is
    rendered, that of the code and the command, so that it is known before the program has run.
    """

    path: str
    name: str
    sha256: str
    references: tuple[Reference, ...]
    diagram: Diagram | None = None


@dataclass(frozen=True, slots=True)
class FolderPage:
    """A page. The body is read when it is asked for, so that ten thousand of them take little memory.

    `path` is relative to the root, with slashes; that of a folder without a page of its own ends in one. `anchors`
    are the places in the body at which a name is put for links of other pages.
    """

    path: str
    title: str
    parent: str | None
    id: str | None
    fields: Mapping[str, Any]
    links: tuple[PageLink, ...]
    files: tuple[PageFile, ...]
    anchors: tuple[tuple[int, str], ...]
    first_line: int  # of the body, in its file
    file: str  # "" for a folder
    cut: int  # where the body starts in the text of the file
    digest: bytes  # of the body
    is_ordered: bool  # its front matter or a navigation says its place

    @property
    def body(self) -> str:
        """The Markdown without front matter and title; raises `UsageError` where the file changed meanwhile."""
        if not self.file:
            return ""
        body = without_front_matter(text_of(self.file)[0])[self.cut :]
        if digest_of(body) != self.digest:
            raise UsageError(f"{self.file} was changed after it was read", hint="run the command again")
        return body


@dataclass(frozen=True)
class Folder:
    """Pages in order, parents first."""

    root: str
    settings: FolderSettings
    pages: tuple[FolderPage, ...]
    problems: tuple[FolderProblem, ...]

    def page_at_path(self, path: str) -> FolderPage:
        return self._by_path[path]

    @property
    def _by_path(self) -> dict[str, FolderPage]:
        found: dict[str, FolderPage] | None = self.__dict__.get("_pages_by_path")
        if found is None:
            found = self.__dict__["_pages_by_path"] = {page.path: page for page in self.pages}
        return found


def text_of(path: str) -> tuple[str, bool]:
    """A text with line feeds and without a mark at its start, and whether it is UTF-8; raises `OSError`."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        text, clean = data.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        text, clean = data.decode("utf-8-sig", "replace"), False
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "\ufffd"), clean


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


# What the front matter of a page says beside its title, in the words of several programs that read it.


ORDER = ("order", "nav_order", "sidebar_position", "weight")
LABELS = ("labels", "tags")
DRAFT = "draft"
RESTRICTIONS = "restrictions"
RESTRICTED = {"view": "view", "read": "view", "edit": "edit", "update": "edit"}
OWN = ("title", "page-id", *LABELS, *ORDER, "status", DRAFT, "owner", RESTRICTIONS, "publish", "published")


class FrontMatter:
    """The fields that a page's front matter gives, and the messages of what is wrong with it."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.said = said
        self.problems: list[str] = []
        self.title = " ".join((self._text_value("title") or "").split())
        self.id = self._text_value("page-id")
        self.order = next((number for key in ORDER if (number := self._number_value(key)) is not None), None)
        self.is_draft = said.get(DRAFT) is True or str(said.get("status")).strip().lower() == DRAFT
        self.published = said.get("publish") is not False and said.get("published") is not False
        self.fields = {
            name: value
            for name, value in (
                ("labels", self._label_list()),
                ("owner", self._text_value("owner")),
                (RESTRICTIONS, self._restriction_lists()),
            )
            if value
        }
        for key in said:
            if key not in OWN and (meant := slip_of(key, OWN)):
                self.problems.append(f"{key} in the front matter is not known, did you mean {meant!r}?")

    def _note_wrong(self, key: str, expected: str) -> None:
        self.problems.append(f"{key} in the front matter: expected {expected}, not {str(self.said[key])[:60]!r}")

    def _text_value(self, key: str) -> str | None:
        value = self.said.get(key)
        if value is None or value == "":
            return None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
        self._note_wrong(key, "a text")
        return None

    def _number_value(self, key: str) -> float | None:
        value = self.said.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12:
            return value
        self._note_wrong(key, "a number")
        return None

    def _label_list(self) -> list[str] | None:
        found: dict[str, None] = {}
        for key in LABELS:
            items = self._text_list(key, self.said.get(key))
            found.update(dict.fromkeys(items or ()))
        return list(found) or None

    def _text_list(self, key: str, value: Any) -> list[str] | None:
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
        found = []
        for item in items:
            one = item.get("label", {}) if isinstance(item, dict) else item  # as Docusaurus may have a tag
            if one is None:
                continue
            if not isinstance(one, str | int | float) or isinstance(one, bool):
                self._note_wrong(key, "a list of texts")
                return None
            if words := str(one).strip():
                found.append(words)
        return found

    def _restriction_lists(self) -> dict[str, list[str]] | None:
        value = self.said.get("restrictions")
        if value is None:
            return None
        if not isinstance(value, dict) or not all(str(key) in RESTRICTED for key in value):
            self._note_wrong("restrictions", "a table of `view` and `edit`, each a list of people and groups")
            return None
        return {RESTRICTED[key]: self._text_list("restrictions", names) or [] for key, names in value.items()}


# One file of Markdown: its front matter, its title, its body, and what stands where in it.


FIRST_HEADING = re.compile(r" {0,3}#[ \t]+(?P<words>[^\n]*?)(?:[ \t]+#+)?[ \t]*(?:\n|\Z)")
SHOWN = re.compile(r"\S")
INCLUDED = re.compile(r"^[ \t]*(?:-+8<-+|;-+8<-+)[ \t]+[\"'].*$|^[ \t]*\{%-?[ \t]*include[- ].*$", re.MULTILINE)
SUSPECT = re.compile(r"\][(\[:]|<(?:a|img)\s", re.IGNORECASE)
NUMBERED = re.compile(r"\d+[-_. ]+(?=\S)")
GAPS = re.compile(r"[-_\s]+")
INDEXES = ("index", "readme")


@dataclass
class PageText:
    path: str
    file: str
    front: FrontMatter
    title: str = ""
    is_named: bool = True  # nothing but the file's name gave the title
    heading: str = ""  # the words of the heading that became the title and is not in the body
    cut: int = 0
    first_line: int = 1
    digest: bytes = b""
    addresses: list[Address] = field(default_factory=list)
    fences: list[Fence] = field(default_factory=list)
    headings: list[Heading] | None = None  # of the body, where it was read
    names: set[str] = field(default_factory=set)
    lines: list[int] = field(default_factory=list)  # of the addresses, then of the fences
    problems: list[FolderProblem] = field(default_factory=list)


def name_of(path: str) -> str:
    """A title out of a file's or a directory's name."""
    stem = posixpath.basename(path.rstrip("/"))
    stem = posixpath.splitext(stem)[0] if not path.endswith("/") else stem
    words = GAPS.sub(" ", NUMBERED.sub("", stem, count=1)).strip() or stem
    return words[:1].upper() + words[1:]


def is_index(path: str) -> bool:
    return posixpath.splitext(posixpath.basename(path))[0].lower() in INDEXES


class TextReader:
    """Reads one file after another; `languages` are those of code whose blocks matter."""

    def __init__(self, languages: Container[str]) -> None:
        self._reader = PlaceReader()
        self._languages = languages

    def read_page(self, path: str, file: str) -> PageText:
        try:
            source, clean = text_of(file)
        except OSError as error:
            page = PageText(path, file, FrontMatter({}), name_of(path))
            reason = (error.strerror or str(error)).lower()
            page.problems.append(FolderProblem(path, 0, f"cannot be read: {reason}", stops=True))
            return page
        said, text = split_front_matter(source)
        front = FrontMatter(said)
        page = PageText(path, file, front)
        if not clean:
            page.problems.append(FolderProblem(path, 0, "is not text in UTF-8", stops=True))
        if not said and (wrong := front_matter_fault(source)):
            page.problems.append(FolderProblem(path, 1, f"the front matter cannot be read: {wrong}", stops=True))
        page.problems += [FolderProblem(path, 1, message, stops=True) for message in front.problems]
        above = source[: len(source) - len(text)].count("\n")
        body, places = self._find_title(page, text)
        page.first_line = above + text.count("\n", 0, page.cut) + 1
        page.digest = digest_of(body)
        included = list(INCLUDED.finditer(body))
        if places is None and (included or self._matters(body)):
            places = self._reader.find_places(body)
        for match in included:
            if places and not any(fence.start <= match.start() < fence.end for fence in places.fences):
                line = page.first_line + body.count("\n", 0, match.start())
                why = "what this line includes is not read: it is shown as it is"
                page.problems.append(FolderProblem(path, line, why))
        if places is not None:
            self._keep_places(page, places)
        return page

    def read_headings(self, page: PageText) -> tuple[list[Heading], set[str]]:
        """The headings and the named elements of a body; raises `OSError`."""
        if page.headings is None:  # nothing else in it mattered
            text = split_front_matter(text_of(page.file)[0])[1]
            found = self._reader.find_places(text[page.cut :])
            page.headings, page.names = found.headings, found.names
        return page.headings, page.names

    def _matters(self, body: str) -> bool:
        return bool(SUSPECT.search(body)) or (bool(self._languages) and ("```" in body or "~~~" in body))

    def _find_title(self, page: PageText, text: str) -> tuple[str, Places | None]:
        """Finds title and body; the places, too, where the whole text had to be read and nothing of it was cut."""
        start = _behind_comments(text)
        first = FIRST_HEADING.match(text, start)
        if first is not None and PLAIN.fullmatch(first["words"]):
            return self._cut_title(page, text, first["words"].strip(), first.end()), None
        places = self._reader.find_places(text)
        heading = places.headings[0] if places.headings else None
        if heading is not None and heading.level == 1 and heading.start == start:
            return self._cut_title(page, text, heading.words, heading.end), None
        self._set_title(page, heading.words if heading else "")
        return text, places

    def _cut_title(self, page: PageText, text: str, words: str, end: int) -> str:
        """The body behind the heading that is the title; another title keeps the heading."""
        self._set_title(page, words)
        if words and page.title != words:
            return text
        page.heading = words
        page.cut = end + len(text[end:]) - len(text[end:].lstrip("\n"))
        return text[page.cut :]

    def _set_title(self, page: PageText, words: str) -> None:
        said = page.front.title or words
        above = posixpath.dirname(page.path)
        page.title = said or (name_of(above + "/") if above and is_index(page.path) else name_of(page.path))
        page.is_named = not said

    def _keep_places(self, page: PageText, places: Places) -> None:
        page.headings, page.names = places.headings, places.names
        page.addresses = places.addresses
        page.fences = [fence for fence in places.fences if fence.language in self._languages]
        starts = [address.start for address in page.addresses] + [fence.start for fence in page.fences]
        page.lines = [page.first_line + self._reader.line(start) - 1 for start in starts]


def _behind_comments(text: str) -> int:
    """Where the first line is that is shown. A comment that stands for something is shown."""
    place = 0
    while True:
        words = SHOWN.search(text, place)
        if words is None:
            return len(text)
        place = text.rfind("\n", place, words.start()) + 1 or place
        end = text.find("-->", place) + 3
        if not text.startswith("<!--", place) or end < 3 or OURS.match(text, place):
            return place
        line_end = text.find("\n", end)
        if text[end : line_end if line_end >= 0 else None].strip():
            return place
        place = line_end + 1 if line_end >= 0 else len(text)


# The body of a page as it is converted: its links lead to pages, its images to files of the page.


AddressOf = Callable[[str, str], str]
FileReference = Callable[[PageFile, Reference], str]


def filled_body(page: FolderPage, address_of: AddressOf, file_reference: FileReference) -> str:
    """Markdown with `address_of(path, anchor)` for links to pages and `file_reference(file, reference)` for files."""
    changes = [(place, place, f" {{#{name}}}") for place, name in page.anchors]
    changes += [
        (link.start, link.end, _written_address(address_of(link.path, link.anchor), html=link.html))
        for link in page.links
    ]
    for file in page.files:
        for reference in file.references:
            words = _written_address(file_reference(file, reference), html=reference.html)
            if reference.block:
                language = file.diagram.language if file.diagram else ""
                words = f"![{language}]({words})"
            changes.append((reference.start, reference.end, words))
    return replace_ranges(page.body, changes)


def attachment_reference(file: PageFile, reference: Reference) -> str:
    """How Markdown names a file of the page: an image by its bare name, another by a link."""
    name = quote(file.name, safe="")
    return name if reference.image else f"attachment:{name}"


def page_reference(title: str, anchor: str) -> str:
    """How Markdown links to a page by its title; without a title, to a place on the page itself."""
    place = f"#{quote(anchor, safe='')}" if anchor else ""
    return f"page:{quote(title, safe='')}{place}"


def _written_address(address: str, *, html: bool) -> str:
    return escape(address) if html else link_target(address)


# What a heading is called in links: each program that shows Markdown makes another name of its words.


NO_WORD = re.compile(r"[^\w\- ]")
NO_ASCII_WORD = re.compile(r"[^\w\s-]", re.ASCII)
ANCHOR_GAPS = re.compile(r"[-\s]+")


def hosts_name(words: str) -> str:
    """As hosts of repositories name it, and Docusaurus."""
    return NO_WORD.sub("", words.strip().lower()).replace(" ", "-")


def generators_name(words: str) -> str:
    """As MkDocs names it."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    return ANCHOR_GAPS.sub("-", NO_ASCII_WORD.sub("", plain).strip().lower())


def named_headings(headings: Iterable[Heading]) -> tuple[list[str], dict[str, int]]:
    """A name for each heading that no other of the page has, and every name that a link may give → its index."""
    names: list[str] = []
    known: dict[str, int] = {}
    others: dict[str, int] = {}
    counts: dict[tuple[str, str], int] = {}
    for index, heading in enumerate(headings):
        found = [
            _numbered_name(counts, "-", hosts_name(heading.words) or "section"),
            _numbered_name(counts, "_", generators_name(heading.words)),
            ANCHOR_GAPS.sub("-", hosts_name(heading.words)),
        ]
        name = heading.name or found[0]
        names.append(name)
        known.setdefault(name, index)
        for other in filter(None, found):
            others.setdefault(other, index)
    return names, others | known


def _numbered_name(counts: dict[tuple[str, str], int], sign: str, name: str) -> str:
    number = counts.get((sign, name), 0)
    counts[sign, name] = number + 1
    return f"{name}{sign}{number}" if number else name
