"""What is known of the members of values, by samples of them, and the members that expressions look for in vain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ..errors import slip_of
from .functions import ROOT
from .scopes import Node, syntax_tree
from .value_kinds import A_KIND, type_word

_LONGEST_WORD = 40
_DIGITS = re.compile(r"\d+")


@dataclass
class ValueShape:
    """What stands at a place, in all samples together; nothing is known without kinds."""

    kinds: set[str] = field(default_factory=set)  # as `type` calls them, besides null
    members: dict[str, ValueShape] = field(default_factory=dict)
    item: ValueShape | None = None  # of lists
    words: set[str] = field(default_factory=set)  # short texts
    answer_of: str = ""  # the operation, of what it answers and of each item of that

    def add(self, value: Any) -> None:
        if value is None:
            return
        self.kinds.add(type_word(value))
        if isinstance(value, str) and len(value) <= _LONGEST_WORD:
            self.words.add(value)
        if isinstance(value, dict):
            for name, part in value.items():
                self.members.setdefault(name, ValueShape()).add(part)
        elif isinstance(value, list):
            self.item = self.item or ValueShape(answer_of=self.answer_of)
            for part in value:
                self.item.add(part)

    @property
    def kind(self) -> str:
        return min(self.kinds) if len(self.kinds) == 1 else ""


def shape_of(samples: Iterable[Any], answer_of: str = "") -> ValueShape:
    shape = ValueShape(answer_of=answer_of)
    for sample in samples:
        shape.add(sample)
    return shape


@dataclass(frozen=True)
class Missed:
    """A member that is not there: where it is looked for, its name, and what stands there instead."""

    place: str
    name: str
    there: ValueShape = field(compare=False)
    said: str = ""  # what is wrong, where it is no member

    @property
    def path(self) -> str:
        return f"{self.place}.{self.name}" if self.place else self.name

    @property
    def text(self) -> str:
        """What is wrong, where that is plain; nothing where a table may have more members than its samples."""
        if self.said:
            return self.said
        place = repr(self.place) if self.place else "it"
        if self.there.kind == "array":
            return f"{place} is a list: write {self.place}[].{self.name}"
        if self.there.kind != "object":
            hint = ", write @ for it" if self.place.endswith("[]") else ""
            return f"{place} is {A_KIND[self.there.kind]}: there is nothing inside{hint}" if self.there.kind else ""
        if (meant := self._meant()) is None:
            return ""
        return f"{place} has no {self.name!r}, did you mean {meant!r}?"

    def _meant(self) -> str | None:
        """Another spelling, a longer name that begins so, the only part in which it stands, or the id of the thing."""
        known = self.there.members.items()
        bare = _DIGITS.sub("", self.name)  # names that differ in their digits are those of two things
        members = {
            name: part for name, part in known if part.kinds and (bare == self.name or _DIGITS.sub("", name) != bare)
        }
        longer = [name for name in members if name.startswith(self.name) and name[len(self.name) :][:1].isupper()]
        inside = [name for name, part in members.items() if self.name in part.members and len(part.members) >= _MANY]
        if (slip := slip_of(self.name, members)) is not None:
            return slip
        folded = self.name.replace("_", "").lower()
        if (other := next((name for name in members if name.replace("_", "").lower() == folded), None)) is not None:
            return other
        short = [name for name in members if self.name[:-1] == name or self.name == name[:-1]]
        if len(short) == 1 and len(self.name) > _FEW:
            return short[0]
        if self.name.endswith("Id") and "id" in members and self.name[:-2].lower() in self.there.answer_of.lower():
            return "id"
        return longer[0] if len(longer) == 1 else f"{inside[0]}.{self.name}" if len(inside) == 1 else None


@dataclass(frozen=True)
class _Seen:
    """What a part of an expression gives, and how one would write it."""

    shape: ValueShape
    place: str


_FEW = 1  # letters, of which a slip says nothing
_MANY = 5  # members of a part that holds nearly all of a thing
_UNKNOWN = _Seen(ValueShape(), "")


def missed_members(
    expression: str, scope: Mapping[str, ValueShape], whole: ValueShape | None = None
) -> Iterator[Missed]:
    """What an expression looks for and no sample has: `scope` are the names it sees, or `whole` all that it is of."""
    walk = _Walk(scope)
    walk.visit(syntax_tree(expression), None if whole is None else _Seen(whole, ""))
    yield from dict.fromkeys(walk.missed)


def result_shape(expression: str, scope: Mapping[str, ValueShape], whole: ValueShape | None) -> ValueShape:
    """What is known of what an expression gives."""
    walk = _Walk(scope)
    return walk.visit(syntax_tree(expression), None if whole is None else _Seen(whole, "")).shape


class _Walk:
    def __init__(self, scope: Mapping[str, ValueShape]) -> None:
        self.scope = scope
        self.missed: list[Missed] = []
        self.found = 0  # members

    def visit(self, node: Node, here: _Seen | None) -> _Seen:
        """`here` is what the part is applied to, and None all that is known."""
        children: Sequence[Node] = [child for child in node.get("children", ()) if isinstance(child, dict)]
        match node["type"]:
            case "field":
                return self._member(node["value"], here)
            case "literal":
                return _UNKNOWN
            case "current" | "identity" | "slice":
                return here or _UNKNOWN
            case "index":
                return self._item(here)
            case "subexpression" | "pipe" | "index_expression":
                for child in children:
                    here = self.visit(child, here)
                return here or _UNKNOWN
            case "projection" | "filter_projection":
                listed = self.visit(children[0], here)
                item = self._item(listed)
                for child in children[2:]:
                    self.visit(child, item)
                found = self.visit(children[1], item)
                return _Seen(ValueShape({"array"}, item=found.shape), found.place)
            case "flatten":
                listed = self.visit(children[0], here)
                item = self._item(listed)
                return item if item.shape.kind == "array" else listed
            case "or_expression":
                return self._first_of(children, here)
            case "and_expression":
                return [self.visit(child, here) for child in children][-1]
            case "multi_select_dict":
                parts = {child["value"]: self.visit(child["children"][0], here).shape for child in children}
                return _Seen(ValueShape({"object"}, parts), "")
            case "function_expression":
                return self._called(node["value"], children, here)
            case "value_projection":
                self.visit(children[0], here)
                self.visit(children[1], _UNKNOWN)
            case _:
                for child in children:
                    self.visit(child, here)
        return _UNKNOWN

    def _member(self, name: str, here: _Seen | None) -> _Seen:
        if here is None or name.startswith(ROOT):
            name = name.removeprefix(ROOT)
            return _Seen(self.scope[name], name) if name in self.scope else _UNKNOWN
        shape = here.shape
        if name in shape.members:
            self.found += 1
            return _Seen(shape.members[name], f"{here.place}.{name}" if here.place else name)
        if len(shape.kinds) == 1:
            self.missed.append(Missed(here.place, name, shape))
        return _UNKNOWN

    @staticmethod
    def _item(here: _Seen | None) -> _Seen:
        if here is None or here.shape.kind != "array" or here.shape.item is None:
            return _UNKNOWN
        return _Seen(here.shape.item, f"{here.place}[]")

    def _first_of(self, children: Sequence[Node], here: _Seen | None) -> _Seen:
        """One of several is enough: what a part misses is told only where none of them finds something."""
        before, self.missed = self.missed, []
        tried: list[tuple[_Seen, list[Missed], int]] = []
        for child in children:
            self.missed, known = [], self.found
            tried.append((self.visit(child, here), self.missed, self.found - known))
        self.missed = before
        if not any(count and not missed for _, missed, count in tried):
            self.missed += [each for _, missed, _ in tried for each in missed]
        return next((seen for seen, missed, _ in tried if not missed), _UNKNOWN)

    def _called(self, function: str, arguments: Sequence[Node], here: _Seen | None) -> _Seen:
        if function == "not_null":
            return self._first_of(arguments, here)
        plain = [self.visit(each, here) for each in arguments if each["type"] != "expref"]
        for each in (each for each in arguments if each["type"] == "expref"):
            self.visit(each["children"][0], self._item(plain[0]) if plain else _UNKNOWN)
        if function == "contains" and len(arguments) == 2:
            self._note_tables(plain[0], arguments[1])
        if function == "merge" and plain and all(each.shape.kind == "object" for each in plain):
            return _Seen(ValueShape({"object"}, dict(chain(*(each.shape.members.items() for each in plain)))), "")
        return plain[0] if function in ("sort_by", "reverse") and plain else _UNKNOWN

    def _note_tables(self, listed: _Seen, looked_for: Node) -> None:
        item = listed.shape.item
        if item is not None and item.kind == "object" and looked_for["type"] == "literal":
            is_table = isinstance(looked_for["value"], dict)
            text = f"{listed.place!r} is a list of tables: say which member, contains({listed.place}[].NAME, ...)"
            self.missed += [] if is_table else [Missed(listed.place, "", listed.shape, text)]
