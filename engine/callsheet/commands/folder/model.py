"""What a directory says: its pages, what they link to and show, and what is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import UsageError
from ...richtext.markdown.front_matter import without_front_matter


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

    def page(self, path: str) -> FolderPage:
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
