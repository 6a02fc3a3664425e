"""The document format, read into the neutral tree."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from ...errors import UsageError
from ..node_rules import NodeForm, Rules
from ..tree import MAX_DEPTH, NO_ATTRS, NO_CONTENT, Attrs, Losses, Mark, Node, text_node
from .document_forms import SPELLING, Raw, is_complete


def read_adf(document: Any, rules: Rules, losses: Losses, *, spelling: bool = True) -> Node:
    """The tree of a document, with the `spelling` of what says nothing; raises UsageError when it is none."""
    types = [form.type for form in rules.forms["doc"]]
    if not isinstance(document, dict) or document.get("type") not in types:
        raise UsageError('not a rich-text document: expected an object with "type": "doc"')
    if not isinstance(document.get("content", []), list):
        raise UsageError('not a rich-text document: "content" must be a list')
    return Node("doc", {}, DocumentReader(rules, losses, spelling=spelling).read_children(document, 1))


class DocumentReader:
    def __init__(self, rules: Rules, losses: Losses, *, spelling: bool = True) -> None:
        self.rules = rules
        self.losses = losses
        self._spelling = spelling
        self._nodes, self._marks = rules.sole_forms
        self._text = next(form.type for form in rules.forms["text"])
        self._bare: dict[str, tuple[Mark, ...]] = {}  # type → the mark that says nothing else, where it need not

    def read_children(self, raw: Raw, depth: int) -> list[Node]:
        content = raw.get("content")
        if not isinstance(content, list):
            return []
        if depth >= MAX_DEPTH:
            self.losses.note(f"more than {MAX_DEPTH} levels: what is deeper became text")
            return [text_node(all_text(raw))]
        return self.read_nodes(content, depth + 1)

    def read_nodes(self, objects: list[Any], depth: int) -> list[Node]:
        """The nodes that stand beside one another."""
        result: list[Node] = []
        text = self._text
        for raw in objects:
            name = raw.get("type") if isinstance(raw, dict) else None
            if name != text or "attrs" in raw or (marks := raw.get("marks", ())) == []:
                result += self._node(raw, name, depth)
            elif (words := raw.get("text")) and isinstance(words, str):
                result.append(Node("text", NO_ATTRS, NO_CONTENT, words, self.read_marks(marks) if marks else ()))
        return result

    def _node(self, raw: Any, name: Any, depth: int) -> list[Node]:
        if not isinstance(raw, dict):
            self.losses.note("something that is not a node was left out")
            return []
        form = (self._nodes.get(name) if isinstance(name, str) else None) or self.form_of_object(raw, mark=False)
        if form is None:
            return self._unknown(raw, depth)
        said = NO_ATTRS
        if self._spelling and ("attrs" in raw or "marks" in raw or ("content" not in raw and form.kind != "text")):
            said = unsaid_ways(raw, form)
        marks = self.read_marks(raw["marks"]) if "marks" in raw else ()
        if form.kind == "text":
            words = raw.get("text")
            return [Node("text", said, NO_CONTENT, words, marks)] if words and isinstance(words, str) else []
        attrs = self.read_attributes(form, raw["attrs"]) if "attrs" in raw or form.address else {}
        content = self.read_children(raw, depth) if "content" in raw else []
        return [Node(form.kind, attrs | said if said else attrs, content, "", marks)]

    def _unknown(self, raw: Raw, depth: int) -> list[Node]:
        self.losses.note(f"unknown node {raw.get('type')!r}: only its text is kept")
        words = raw["text"] if isinstance(raw.get("text"), str) else _first_text(raw.get("attrs"))
        return [
            *([text_node(words, self.read_marks(raw.get("marks")))] if words else []),
            *self.read_children(raw, depth),
        ]

    def form_of_object(self, raw: Raw, *, mark: bool) -> NodeForm | None:
        name = raw.get("type")
        if isinstance(name, str) and (sole := (self._marks if mark else self._nodes).get(name)):
            return sole
        forms = self.rules.by_type.get((mark, name), []) if isinstance(name, str) else []
        attrs = raw.get("attrs")
        attrs = attrs if isinstance(attrs, dict) else {}
        fitting = [form for form in forms if all(attrs.get(key) == value for key, value in form.fixed.items())]
        return next((form for form in fitting if is_complete(form, attrs)), fitting[-1] if fitting else None)

    def read_attributes(self, form: NodeForm, raw: Any) -> Attrs:
        result: Attrs = {}
        if not raw and not form.address:
            return result
        for name, value in raw.items() if isinstance(raw, dict) else ():
            field = form.known.get(name)
            if field and field.is_valid(value):
                if field.is_same:
                    result[field.name] = value
                else:
                    result |= field.neutral_attributes(value)
            elif name not in form.fixed and value is not None:
                self.losses.note(f"{form.type}: attribute {name!r} is unknown or out of range")
        if form.address:
            parts = re.findall(r"\{(\w+)\}", form.address)
            words = {part: quote(result.pop(part, ""), safe="", errors="replace") for part in parts}
            result["url"] = form.address.format(**words)
        return result

    def read_marks(self, found: Any) -> tuple[Mark, ...]:
        if not found or not isinstance(found, list):
            return ()
        result: tuple[Mark, ...] = ()
        for mark in found:
            if isinstance(mark, dict) and len(mark) == 1 and (bare := self._of_type(mark.get("type"))):
                result += bare
                continue
            form = self.form_of_object(mark, mark=True) if isinstance(mark, dict) else None
            attrs = self.read_attributes(form, mark.get("attrs")) if form else {}
            if form is None or not all(field.name in attrs or field.outer in attrs for field in form.demands):
                self.losses.note(f"unknown mark {mark.get('type') if isinstance(mark, dict) else mark!r} left out")
                continue
            result += (Mark(form.kind, attrs),)
        return result

    def _of_type(self, name: Any) -> tuple[Mark, ...]:
        if not isinstance(name, str):
            return ()
        if name not in self._bare:
            form = self._marks.get(name)
            self._bare[name] = (Mark(form.kind, {}),) if form and is_complete(form, {}) else ()
        return self._bare[name]


def unsaid_ways(raw: Raw, form: NodeForm) -> Attrs:
    """Which of the ways to say nothing a node has: empty or absent attributes, marks, content."""
    said = []
    if "attrs" in raw and raw["attrs"] == {} and form.fields:
        said.append("attrs")
    if "marks" in raw and raw["marks"] == [] and form.marks:
        said.append("marks")
    if "content" not in raw and form.kind != "text" and form.table.get("holds"):
        said.append("content")
    return {SPELLING: said} if said else NO_ATTRS


def _first_text(attrs: Any) -> str:
    """What an unknown node says of itself."""
    for name in ("text", "title", "url", "alt", "shortName"):
        if isinstance(attrs, dict) and isinstance(attrs.get(name), str):
            return str(attrs[name])
    return ""


def all_text(raw: Any) -> str:
    """Every text below a node, whatever its depth."""
    words: list[str] = []
    pending = [raw]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            if isinstance(found.get("text"), str):
                words.append(found["text"])
            content = found.get("content")
            pending.extend(reversed(content) if isinstance(content, list) else ())
    return " ".join(words)
