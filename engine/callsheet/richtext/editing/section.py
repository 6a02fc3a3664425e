"""The part of a document below one heading."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import UsageError, did_you_mean
from ..tree import Node
from .source_parts import Part


@dataclass(slots=True)
class Section:
    """Blocks `start` to `end` of what `above` leads to from the root, the heading first."""

    above: list[Part]
    start: int
    end: int

    @property
    def parts(self) -> list[Part]:
        return (self.above[-1].parts or [])[self.start : self.end]

    def within(self, content: list[Node]) -> list[Node]:
        """The whole document with this content in the section's place; its heading stays where none is given."""
        parts = self.above[-1].parts or []
        heading = parts[self.start].said()
        headed = bool(content) and content[0].kind == "heading"
        if headed and content[0].attrs["level"] > heading.attrs["level"]:
            headed = False
        inner = [*([] if headed else [heading]), *content]
        nodes = [part.said() for part in parts]
        nodes[self.start : self.end] = inner
        for place in range(len(self.above) - 2, -1, -1):
            siblings = self.above[place].parts or []
            inner = [part.said() if part is not self.above[place + 1] else _with(part, nodes) for part in siblings]
            nodes = inner
        return nodes


def _with(part: Part, nodes: list[Node]) -> Node:
    return part.said().with_content(nodes)


def section_of(root: Part, name: str) -> Section:
    """The section of a heading, by its words. Raises UsageError when there is none, or more than one."""
    found: list[Section] = []
    titles: list[str] = []
    pending = [[root]]
    while pending:
        above = pending.pop()
        parts = above[-1].parts or []
        for place, part in enumerate(parts):
            if part.kind == "heading" and not part.opaque:
                title = heading_words(part)
                titles.append(title)
                if fold_words(title) == fold_words(name):
                    found.append(Section(above, place, _end(parts, place)))
        pending += [[*above, part] for part in reversed(parts) if part.parts]
    if not found:
        known = f"; there is {', '.join(titles[:8])}" if titles else "; there is no heading at all"
        near = did_you_mean(name, titles)
        raise UsageError(f"no heading {name!r}{near or known}")
    if len(found) > 1:
        raise UsageError(f"{len(found)} headings read {name!r}", hint="edit the whole, or rename one of them first")
    return found[0]


def _end(parts: list[Part], start: int) -> int:
    level = parts[start].attrs.get("level", 6)
    after = range(start + 1, len(parts))
    return next(
        (n for n in after if parts[n].kind == "heading" and parts[n].attrs.get("level", 6) <= level), len(parts)
    )


def heading_words(part: Part) -> str:
    return "".join(" " if token.blank else token.text for token in part.line or ())


def fold_words(words: str) -> str:
    return " ".join(words.lstrip("#").split()).casefold()
