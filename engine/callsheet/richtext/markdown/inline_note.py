"""Footnotes in the line they belong to, `words^[a note]`, as Pandoc has them.

Expressions such as `^[a-z]+` stay text: a note has a space in it, and no sign of
repetition behind it.
"""

from __future__ import annotations

from markdown_it.helpers import parseLinkLabel
from markdown_it.rules_inline import StateInline

REPEATED = tuple("*+?{$")


def inline_note(state: StateInline, silent: bool) -> bool:
    """A rule for the parser: the note goes to those that labels refer to, its words not read yet."""
    start = state.pos
    if state.src[start : start + 2] != "^[":
        return False
    end = parseLinkLabel(state, start + 1)
    words = state.src[start + 2 : end].strip() if end >= 0 else ""
    if len(words.split(maxsplit=1)) < 2 or state.src.startswith(REPEATED, end + 1):
        return False
    if not silent:
        notes = state.env.setdefault("footnotes", {}).setdefault("list", {})
        state.push("footnote_ref", "", 0).meta = {"id": len(notes)}
        notes[len(notes)] = {"content": words}
    state.pos = end + 1
    return True
