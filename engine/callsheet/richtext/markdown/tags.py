"""What the tags of HTML mean, by the definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markdown_it.common.normalize_url import normalizeLink, validateLink

from ..fields import AttrField, attribute_fields
from ..node_rules import Rules
from ..tree import Attrs, Mark
from .elements import ELEMENTS

if TYPE_CHECKING:
    from ...language.shape import richtext as shape

ADDRESSES = frozenset({"href", "src"})
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
HEX3 = re.compile(r"#([0-9a-f])([0-9a-f])([0-9a-f])")
RGB = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")

Given = Mapping[str, str | None]  # the attributes of a tag; None for one without a value

EMPTY = frozenset({"alt"})  # attributes that say something when they are empty: an image that only decorates


class Tag:
    """One kind that a tag says, and how its attributes are read."""

    def __init__(self, kind: str, table: shape.HtmlForm) -> None:
        self.kind = kind
        self.set: Attrs = table.get("set", {})
        self.fields: list[AttrField] = attribute_fields(table.get("attrs", {}), renamed=True)

    def attrs(self, given: Given) -> Attrs | None:
        """The neutral attributes; None where one that must be there is not, or is an address that may not be linked."""
        result = dict(self.set)
        for field in self.fields:
            value: Any = given.get(field.outer)
            if value is not None and int in field.types:
                value = int(value) if re.fullmatch(r"\d{1,9}", value) else None
            elif value and field.outer in ADDRESSES:
                value = _address(value)
            if not value and not (value == "" and field.outer in EMPTY):
                if field.needed:
                    return None
                continue
            result |= {field.name: value}
        return result


class Declaration:
    """A mark that a property of CSS, or an attribute of the same meaning, says on any tag."""

    def __init__(self, kind: str, table: shape.HtmlForm, rules: Rules) -> None:
        self.kind = kind
        self.name = table.get("as")
        self.values = table.get("values", {})
        known = rules.forms[kind][0].known if kind in rules.forms else {}
        self.field = next((field for field in known.values() if field.name == self.name), None)

    def mark(self, value: str) -> Mark | None:
        words = _spelt(value.strip().lower())
        found = self.values.get(words)
        if self.name is None:
            return Mark(self.kind, {}) if found else None
        if found is None and self.field is not None and self.field.pattern and self.field.valid(words):
            found = words
        return None if found is None else Mark(self.kind, {self.name: found})


def _spelt(value: str) -> str:
    """A colour in six hexadecimal digits."""
    if match := HEX3.fullmatch(value):
        return "#" + "".join(digit * 2 for digit in match.groups())
    if match := RGB.fullmatch(value):
        return "#" + "".join(f"{min(int(number), 255):02x}" for number in match.groups())
    return value


@lru_cache(maxsize=2)
def tags_of(rules: Rules) -> Tags:
    """What tags mean by these definitions: made once for all texts."""
    return Tags(rules)


class Tags:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.known: dict[str, Tag] = {}
        self._styles: dict[str, list[Declaration]] = {}
        self._attrs: dict[str, list[Declaration]] = {}
        for kind, forms in rules.tags.items():
            for form in forms:
                self._learn(kind, form)
        self._declared = frozenset({"style", *self._attrs})

    def _learn(self, kind: str, table: shape.HtmlForm) -> None:
        if "tag" in table:
            self.known.setdefault(table["tag"], Tag(kind, table))
        if "style" in table:
            self._styles.setdefault(table["style"], []).append(Declaration(kind, table, self.rules))
        if "attr" in table:
            self._attrs.setdefault(table["attr"], []).append(Declaration(kind, table, self.rules))

    def is_markup(self, name: str) -> bool:
        return name in self.known or name in ELEMENTS

    def kind(self, name: str) -> str | None:
        tag = self.known.get(name)
        return tag.kind if tag else None

    def of_marks(self, name: str, given: Given) -> tuple[Mark, ...]:
        """The marks of what an element encloses."""
        tag = self.known.get(name)
        attrs = tag.attrs(given) if tag and tag.kind in self.rules.marks else None
        own = (Mark(tag.kind, attrs),) if tag and attrs is not None else ()
        return (*own, *self.declared(given)) if given else own

    def on_blocks(self, mark: Mark) -> bool:
        """Whether a mark stands on paragraphs, not on the words in them."""
        return any(mark.kind in form.marks for form in self.rules.forms.get("paragraph", ()))

    def declared(self, given: Given) -> Iterator[Mark]:
        for name in self._declared.intersection(given):
            if name == "style":
                for declaration in (given["style"] or "").split(";"):
                    prop, _, value = declaration.partition(":")
                    yield from _marks(self._styles.get(prop.strip().lower(), ()), value)
            else:
                yield from _marks(self._attrs[name], given[name] or "")


def _address(value: str) -> str | None:
    """An address as a link in Markdown has it; None for one that would run something."""
    words = CONTROL.sub("", value.strip())
    return normalizeLink(words) if validateLink(words) else None


def _marks(found: Iterable[Declaration], value: str) -> Iterator[Mark]:
    return (mark for one in found if (mark := one.mark(value)))
