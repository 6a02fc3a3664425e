"""A plan for a person: as a tree with what differs, or as Markdown for a comment in a review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import counted
from ...language.template import to_text
from .change import PlannedChange, counts, value_in_plan

_SIGNS = {"create": "+", "update": "~", "remove": "-", "keep": " "}
_MOST_LINES = 40  # of one thing's text
_LONGEST = 200


def tree(changes: Sequence[PlannedChange], *, whole: bool = False) -> Iterator[str]:
    """Lines: each thing that differs below its parents, with its differences."""
    by_path = {change.path: change for change in changes}
    wanted = [change for change in changes if _is_told(change)]
    shown: set[str] = set()
    for change in wanted:
        way: list[PlannedChange] = []
        above = by_path.get(change.above or "")
        while above is not None and above not in way:
            way.append(above)
            above = by_path.get(above.above or "")
        for depth, each in enumerate([*reversed(way), change]):
            if each.path not in shown:
                shown.add(each.path)
                yield from _one(each, "  " * depth, whole=whole)


_PLANNED = {"create": "to create", "update": "to change", "remove": "to remove", "conflict": "in conflict"}
_DONE = {"create": "created", "update": "changed", "remove": "removed", "conflict": "in conflict"}


def summary(changes: Sequence[PlannedChange], *, done: bool = False) -> str:
    found = counts(changes)
    words = _DONE if done else _PLANNED
    told = [f"{number} {words[verb]}" for verb, number in found.items() if number]
    return ", ".join(told) or "nothing to do"


def markdown(changes: Sequence[PlannedChange]) -> Iterator[str]:
    """For a comment in a review: a line for each thing, its differences folded."""
    yield f"**{summary(changes)}**"
    for change in changes:
        if not _is_told(change):
            continue
        yield ""
        lines = [*_facts(change), *change.lines]
        yield f"- `{_sign(change)}` {_code(change.path)}: {_plain(change.title)}"
        if lines:
            fence = "`" * max(3, 1 + max((_ticks(line) for line in lines), default=0))
            yield f"\n  <details><summary>{counted(len(lines), 'line')}</summary>\n"
            yield from (f"  {line}" for line in (f"{fence}diff", *lines, fence))
            yield "\n  </details>"


def _is_told(change: PlannedChange) -> bool:
    return change.conflict is not None or change.verb != "keep" or bool(change.site)


def _sign(change: PlannedChange) -> str:
    return "!" if change.conflict is not None else _SIGNS[change.verb]


def _one(change: PlannedChange, indent: str, *, whole: bool) -> Iterator[str]:
    name = change.path.rstrip("/").rsplit("/", 1)[-1] + ("/" if change.path.endswith("/") else "")
    yield f"{_sign(change)} {indent}{name}: {change.title}".rstrip()
    inner = f"  {indent}    "
    for fact in _facts(change):
        yield inner + fact
    lines = change.lines
    if change.verb == "create" and not whole:
        if lines:
            yield f"{inner}{counted(len(lines), 'line')} of text"
        return
    for line in lines if whole else lines[:_MOST_LINES]:
        yield inner + line
    if len(lines) > _MOST_LINES and not whole:
        yield f"{inner}... and {counted(len(lines) - _MOST_LINES, 'more line')}"


def _facts(change: PlannedChange) -> Iterator[str]:
    if change.conflict is not None:
        yield f"conflict: {change.conflict}"
        yield from change.details
    if change.verb == "update":
        for name, part in change.fields.items():
            if name != change.body:
                yield f"{name}: {_said(part.was)} -> {_said(part.wanted)}"
    for sign, tags in (("+", change.added), ("-", change.removed)):
        for name, words in tags.items():
            yield f"{name}: {', '.join(sign + word for word in words)}"
    for upload in change.uploads:
        yield f"file: {upload.name}"
    yield from change.site


def _said(value: Any) -> str:
    text = to_text(value_in_plan(value)) if value is not None else "nothing"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _ticks(line: str) -> int:
    return max((len(run) for run in "".join(c if c == "`" else " " for c in line).split()), default=0)


def _code(text: str) -> str:
    ticks = "`" * (_ticks(text) + 1)
    return f"{ticks}{text}{ticks}"


def _plain(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#!|~" else letter for letter in " ".join(text.split()))
