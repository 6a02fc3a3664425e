"""JSON with comments and trailing commas: set or remove one member, and leave every other character as it is.

A text is scanned into spans once, and an edit replaces as few of its characters as it can. So comments, the order of
members, line ends, a byte-order mark and indentation survive, which no reader and writer of JSON leaves alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_DEPTH = 200
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]+|//[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_LINE_END = re.compile(r"[ \t]*\r?\n")
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")


class JsoncError(ValueError):
    """The text cannot be read, or not be edited there; `line` and `column` count from 1."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        before = text[:position]
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1
        self.problem = problem
        super().__init__(f"line {self.line}, column {self.column}: {problem}")


class LocatedValue(NamedTuple):
    """A value and where it stands; `members` only of an object, whose text ends with its brace."""

    start: int
    end: int
    data: Any
    members: tuple[Member, ...] | None = None


class Member(NamedTuple):
    key: str
    start: int
    value: LocatedValue
    comma: int | None  # where the comma behind it stands


def parse_jsonc(text: str) -> Any:
    """The data; raises `JsoncError` for what is not JSON with comments."""
    return _scan_text(text).data


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with `value` at the path of keys, whose objects are made where they are missing.

    An empty text counts as an empty object. Raises `JsoncError` where the text cannot be read, where something on the
    way is not an object, or where a key of the path stands there twice.
    """
    if not _BLANK.sub("", text.removeprefix("\ufeff")):
        text = f"{text}{{}}" if not text.strip("\ufeff \t\r\n") else f"{text.rstrip()}\n{{}}"
    root = _scan_text(text)
    layout = _Layout(text, root)
    target, depth, found = _follow_path(text, root, path)
    if found is not None:
        return text[: found.start] + layout.text_of_value(value, len(path)) + text[found.end :]
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return layout.insert_member(target, path[depth], value, depth + 1)


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without what stands at the path; unchanged where nothing does. Raises as `with_member` does."""
    if not _BLANK.sub("", text.removeprefix("\ufeff")):
        return text
    target, depth, found = _follow_path(text, _scan_text(text), path)
    if found is None or depth != len(path) - 1:
        return text
    members = target.members or ()
    place = next(place for place, member in enumerate(members) if member.value is found)
    cuts = _cuts_of_member(text, members[place])
    comma = members[place - 1].comma if place else None
    if members[place].comma is None and comma is not None:  # it was the last one
        cuts.insert(0, (comma, comma + 1))
    if not _text_without(text, target.start + 1, target.end - 1, cuts).strip():
        cuts = [(target.start + 1, target.end - 1)]
    return _text_without(text, 0, len(text), cuts)


def _cuts_of_member(text: str, member: Member) -> list[tuple[int, int]]:
    """What goes with a member: its comma, and its line where nothing else stands in it. Comments stay."""
    start, end, comma = member.start, member.value.end, member.comma
    if comma is not None and text[end:comma].strip():
        return [(start, end), (comma, comma + 1)]
    end = end if comma is None else comma + 1
    line = text.rfind("\n", 0, start) + 1
    rest = _LINE_END.match(text, end)
    if line > 0 and not text[line:start].strip() and rest is not None:
        return [(line, rest.end())]
    return [(line + len(text[line:start].rstrip(" \t")), end)]


def _text_without(text: str, start: int, end: int, cuts: Sequence[tuple[int, int]]) -> str:
    kept, at = [], start
    for first, last in cuts:
        kept.append(text[at:first])
        at = last
    return "".join(kept) + text[at:end]


def _follow_path(text: str, root: LocatedValue, path: Sequence[str]) -> tuple[LocatedValue, int, LocatedValue | None]:
    """The deepest object on the way, how many keys lead to it, and the value at the end if it is there."""
    here = root
    for depth, key in enumerate(path):
        if here.members is None:
            raise JsoncError(text, here.start, f"expected an object here, to hold {key!r}")
        there = [member.value for member in here.members if member.key == key]
        if len(there) > 1:
            raise JsoncError(text, there[1].start, f"{key!r} stands here a second time")
        if not there:
            return here, depth, None
        if depth == len(path) - 1:
            return here, depth, there[0]
        here = there[0]
    return here, len(path), here


class _Layout:
    """How the text is written: its line ends, and what one step of indentation is."""

    def __init__(self, text: str, root: LocatedValue) -> None:
        self._text = text
        line_end = re.search(r"\r?\n", text)
        self._inline = line_end is None and bool(root.members)  # all of it stands in one line
        self._end = line_end[0] if line_end else "\n"
        inner = [_indent_at(text, member.start) for member in root.members or () if _begins_line(text, member.start)]
        self._step = next((indent for indent in inner if indent), "  ")

    def text_of_value(self, value: Any, depth: int) -> str:
        """A value as it stands `depth` objects deep."""
        if self._inline:
            return json.dumps(value, ensure_ascii=False)
        written = json.dumps(value, indent=self._step, ensure_ascii=False)
        return written.replace("\n", self._end + self._step * depth)

    def insert_member(self, target: LocatedValue, key: str, value: Any, depth: int) -> str:
        text, closing = self._text, target.end - 1
        member = f"{json.dumps(key, ensure_ascii=False)}: "
        members = target.members or ()
        if members and "\n" not in text[target.start : closing]:
            last = members[-1]
            added = f", {member}{json.dumps(value, ensure_ascii=False)}"
            end = last.value.end
            rest = text[end:] if last.comma is None else text[end : last.comma] + text[last.comma + 1 :]
            return text[:end] + added + rest
        beside = next((each.start for each in reversed(members) if _begins_line(text, each.start)), None)
        indent = self._step * depth if beside is None else _indent_at(text, beside)
        step = len(indent) // len(self._step)
        member += self.text_of_value(value, step)
        if not members and self._inline:
            return text[: target.start + 1] + member + text[closing:]
        if not members:
            inside = text[target.start + 1 : closing].rstrip()
            around = f"{inside}{self._end}{indent}{member}{self._end}{self._step * (depth - 1)}"
            return text[: target.start + 1] + around + text[closing:]
        return self._append_member(members[-1], f"{self._end}{indent}{member}")

    def _append_member(self, last: Member, added: str) -> str:
        """Behind the last member, and behind a comment in its line."""
        text = self._text
        if last.comma is not None:
            place = _end_of_line(text, last.comma + 1)
            return text[:place] + added + "," + text[place:]
        place = _end_of_line(text, last.value.end)
        return text[: last.value.end] + "," + text[last.value.end : place] + added + text[place:]


def _end_of_line(text: str, position: int) -> int:
    """Behind comments that follow in the same line, not behind the blanks after them."""
    match = _SAME_LINE.match(text, position)
    return position + len(match[0].rstrip(" \t")) if match else position


def _indent_at(text: str, position: int) -> str:
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return before[: len(before) - len(before.lstrip(" \t"))]


def _begins_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()


def _scan_text(text: str) -> LocatedValue:
    start = 1 if text.startswith("\ufeff") else 0
    value = _value_at(text, _skip_blanks(text, start), 0)
    rest = _skip_blanks(text, value.end)
    if rest < len(text):
        raise JsoncError(text, rest, "expected the end of the file")
    return value


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    end = match.end() if match else position
    if text.startswith("/*", end):
        raise JsoncError(text, end, "the comment has no end")
    return end


def _value_at(text: str, position: int, depth: int) -> LocatedValue:
    if depth > _DEPTH:
        raise JsoncError(text, position, f"nested deeper than {_DEPTH}")
    opening = text[position : position + 1]
    if opening == "{":
        return _object_at(text, position, depth)
    if opening == "[":
        return _array_at(text, position, depth)
    for pattern in (_STRING, _SCALAR):
        if match := pattern.match(text, position):
            return LocatedValue(position, match.end(), json.loads(match[0]))
    raise JsoncError(text, position, "expected a value" if position < len(text) else "the file ends too early")


def _object_at(text: str, start: int, depth: int) -> LocatedValue:
    members: list[Member] = []
    at = _skip_blanks(text, start + 1)
    while not text.startswith("}", at):
        name = _STRING.match(text, at)
        if name is None:
            raise JsoncError(text, at, "expected a key in double quotes, or }")
        colon = _skip_blanks(text, name.end())
        if not text.startswith(":", colon):
            raise JsoncError(text, colon, "expected a colon")
        value = _value_at(text, _skip_blanks(text, colon + 1), depth + 1)
        comma, at = _comma_after(text, value.end, "}")
        members.append(Member(json.loads(name[0]), name.start(), value, comma))
    return LocatedValue(start, at + 1, {member.key: member.value.data for member in members}, tuple(members))


def _array_at(text: str, start: int, depth: int) -> LocatedValue:
    items: list[Any] = []
    at = _skip_blanks(text, start + 1)
    while not text.startswith("]", at):
        item = _value_at(text, at, depth + 1)
        items.append(item.data)
        _, at = _comma_after(text, item.end, "]")
    return LocatedValue(start, at + 1, items)


def _comma_after(text: str, position: int, closing: str) -> tuple[int | None, int]:
    """Where the comma behind a value stands, if one does, and what comes next."""
    at = _skip_blanks(text, position)
    if text.startswith(",", at):
        return at, _skip_blanks(text, at + 1)
    if not text.startswith(closing, at):
        raise JsoncError(text, at, f"expected a comma or {closing}")
    return None, at
