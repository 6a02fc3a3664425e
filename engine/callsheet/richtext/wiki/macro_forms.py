"""The wiki-markup forms of node definitions, sorted by how they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..attribute_fields import AttrField, attribute_fields
from ..markdown.text_patterns import TextTemplate
from ..node_rules import Rules
from ..tree import Attrs, Node

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


PATH = re.compile("[/:]")  # in an address that is no bare name of an attached file


class WikiMacro:
    """`{name:argument|parameter=value}` with or without a body."""

    def __init__(self, kind: str, table: shape.WikiForm, *, body: bool) -> None:
        self.kind = kind
        self.name = table["macro"]
        self.argument = table.get("argument")
        self.params: list[AttrField] = attribute_fields(table.get("params", {}), renamed=True)
        self.set: Attrs = table.get("set", {})
        self.fixed = table.get("fixed", {})
        self.words = table.get("words", {})
        self.plain = table.get("body") == "plain"
        self.body = body

    def matches(self, words: str) -> bool:
        given = macro_parameters(words)
        return all(given.get(name) == value for name, value in self.fixed.items())

    def read_attributes(self, words: str) -> Attrs:
        result = dict(self.set)
        for name, value in macro_parameters(words).items():
            field = next((field for field in self.params if field.outer == name), None)
            if field is not None:
                result |= {key: found for key, found in field.neutral_attributes(value).items() if key == field.name}
            elif not name and self.argument:
                result[self.argument] = self.words.get(value.lower(), value)
        return result

    def opening_sign(self, attrs: Attrs) -> str:
        parts = [f"{name}={value}" for name, value in self.fixed.items()]
        argument = attrs.get(self.argument) if self.argument else None
        parts = [_clean(argument), *parts] if isinstance(argument, str) and argument else parts
        for field in self.params:
            value = field.outer_value({field.name: attrs.get(field.name)}) if field.name != self.argument else None
            parts += [f"{field.outer}={_clean(str(value))}"] if value is not None else []
        return "{" + self.name + (":" + "|".join(parts) if parts else "") + "}"


def _clean(value: str) -> str:
    return re.sub(r"[{}|\r\n]+", " ", value).strip()


def macro_parameters(words: str) -> dict[str, str]:
    """`a|b=c` as {"": "a", "b": "c"}."""
    found: dict[str, str] = {}
    for part in filter(None, words.split("|")):
        name, sign, value = part.partition("=")
        found[name.strip() if sign else ""] = (value if sign else part).strip()
    return found


class WikiForms:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.prefixes: list[tuple[str, str, Attrs]] = []
        self.bullets: dict[str, str] = {}
        self.bars: dict[str, str] = {}
        self.lines: dict[str, str] = {}
        self.marks: dict[str, str] = {}
        self.pairs: dict[str, tuple[str, str]] = {}
        self.templates: list[TextTemplate] = []
        self.breaks: dict[str, str] = {}
        self.macros: list[WikiMacro] = []
        for kind, form in rules.wiki_forms():
            self._learn(kind, form)
        self.by_name: dict[str, list[WikiMacro]] = {}
        for macro in sorted(self.macros, key=lambda macro: -len(macro.fixed)):
            self.by_name.setdefault(macro.name, []).append(macro)
        self.mark_kinds = {sign: kind for kind, sign in self.marks.items()}

    def _learn(self, kind: str, form: shape.WikiForm) -> None:
        if "prefix" in form:
            self.prefixes.append((form["prefix"], kind, form.get("set", {})))
        elif "bullet" in form:
            self.bullets[form["bullet"]] = kind
        elif "bar" in form:
            self.bars[form["bar"]] = kind
        elif "line" in form:
            self.lines[form["line"]] = kind
        elif "mark" in form:
            self.marks[kind] = form["mark"]
        elif "open" in form:
            self.pairs[kind] = (form["open"], form["close"])
        elif "text" in form and kind == "break":
            self.breaks[form["text"]] = kind
        elif "text" in form:
            self.templates.append(
                TextTemplate(kind, form["text"], self.rules.definition_of(kind).get("patterns", {}), {})
            )
        elif "macro" in form:
            self.macros.append(WikiMacro(kind, form, body=self.rules.group(kind) != "inline"))

    def macro_of_name(self, node: Node) -> WikiMacro | None:
        return next(
            (macro for macro in self.macros if macro.kind == node.kind and macro.set.items() <= node.attrs.items()),
            None,
        )
