"""The rich text of a thing and the Markdown of its file: what would be sent, and what differs."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...richtext import convert_rich_text
from ...richtext.editing import Editing

if TYPE_CHECKING:
    from ...language.shape.richtext import NodeDefinition

_LINES_AROUND = 1


class Texts(NamedTuple):
    """Texts of one format, by the definitions of rich text."""

    format: str
    nodes: dict[str, NodeDefinition]

    def written(self, text: str) -> tuple[Any, list[str]]:
        """The Markdown in the format, and what that could not say."""
        done = convert_rich_text(text, "markdown", self.format, nodes=self.nodes)
        return done.value, done.losses

    def shown(self, source: Any) -> list[str]:
        """A text of the site as lines of Markdown."""
        if not source:
            return []
        return Editing(source, self.format, self.nodes).markdown().splitlines()

    def edited(self, source: Any, text: str) -> tuple[Any, list[str]]:
        """The source with what the text says differently; all else in it stays."""
        if not source:
            return self.written(text)
        edit = Editing(source, self.format, self.nodes)
        return edit.edited(text), edit.losses.list()

    def merged(self, source: Any, since: Any, text: str) -> tuple[Any, list[str]]:
        """The source with what became of `since` in the text. Raises `Conflict` where both changed the same."""
        edit = Editing(source, self.format, self.nodes)
        return edit.merged(Editing(since, self.format, self.nodes), text), edit.losses.list()

    def says(self, source: Any, text: str) -> bool:
        """Whether a source is what the text says, and nothing else."""
        return bool(self.edited(source, text)[0] == source) if source else not text.strip()

    def differences(self, was: Any, now: Any) -> list[str]:
        """Lines that are removed (`-`), added (`+`) or near (` `)."""
        return line_differences(self.shown(was), self.shown(now))


def line_differences(old: Iterable[str], new: Iterable[str]) -> list[str]:
    lines = difflib.unified_diff([*old], [*new], lineterm="", n=_LINES_AROUND)
    return [line for line in lines if not line.startswith(("---", "+++"))]


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
