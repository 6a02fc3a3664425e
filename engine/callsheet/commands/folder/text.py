"""One file of Markdown: its front matter, its title, its body, and what stands where in it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container
from dataclasses import dataclass, field

from ...richtext.lossless_markers import OURS
from ...richtext.markdown.front_matter import front_matter_fault, split_front_matter
from ...richtext.markdown.places import PLAIN, Address, Fence, Heading, PlaceReader, Places
from .front import FrontMatter
from .model import FolderProblem, digest_of, text_of

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
        body, places = self._titled(page, text)
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
            self._keep(page, places)
        return page

    def headings(self, page: PageText) -> tuple[list[Heading], set[str]]:
        """The headings and the named elements of a body; raises `OSError`."""
        if page.headings is None:  # nothing else in it mattered
            text = split_front_matter(text_of(page.file)[0])[1]
            found = self._reader.find_places(text[page.cut :])
            page.headings, page.names = found.headings, found.names
        return page.headings, page.names

    def _matters(self, body: str) -> bool:
        return bool(SUSPECT.search(body)) or (bool(self._languages) and ("```" in body or "~~~" in body))

    def _titled(self, page: PageText, text: str) -> tuple[str, Places | None]:
        """Finds title and body; the places, too, where the whole text had to be read and nothing of it was cut."""
        start = _behind_comments(text)
        first = FIRST_HEADING.match(text, start)
        if first is not None and PLAIN.fullmatch(first["words"]):
            return self._cut(page, text, first["words"].strip(), first.end()), None
        places = self._reader.find_places(text)
        heading = places.headings[0] if places.headings else None
        if heading is not None and heading.level == 1 and heading.start == start:
            return self._cut(page, text, heading.words, heading.end), None
        self._entitle(page, heading.words if heading else "")
        return text, places

    def _cut(self, page: PageText, text: str, words: str, end: int) -> str:
        """The body behind the heading that is the title; another title keeps the heading."""
        self._entitle(page, words)
        if words and page.title != words:
            return text
        page.heading = words
        page.cut = end + len(text[end:]) - len(text[end:].lstrip("\n"))
        return text[page.cut :]

    def _entitle(self, page: PageText, words: str) -> None:
        said = page.front.title or words
        above = posixpath.dirname(page.path)
        page.title = said or (name_of(above + "/") if above and is_index(page.path) else name_of(page.path))
        page.is_named = not said

    def _keep(self, page: PageText, places: Places) -> None:
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
