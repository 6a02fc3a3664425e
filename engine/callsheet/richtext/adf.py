"""The document format: JSON nodes and marks, read into the neutral tree and written from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Required, TypedDict
from urllib.parse import quote, unquote

from ..errors import UsageError
from .rules import NodeForm, Rules
from .tree import MAX_DEPTH, NO_ATTRS, Attrs, Losses, Mark, Node, text

SPELLING = "spelling"
COUNT = "{count}"  # in a default: the number of the node among those of its kind
Raw = Mapping[str, Any]  # an object of a document as it was received: no value in it is sure


class DocumentMark(TypedDict, total=False):
    """A mark of the document format."""

    type: Required[str]
    attrs: Attrs


class DocumentNode(TypedDict, total=False):
    """A node of the document format. The root has a `version`; text has `text` and `marks`, others have `content`."""

    version: int
    type: Required[str]
    attrs: Attrs
    content: list[DocumentNode]
    text: str
    marks: list[DocumentMark]


@cache
def address_pattern(address: str) -> re.Pattern[str]:
    """A pattern for an address template such as `scheme:{a}/{b}`; its fields are percent-encoded."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/?#\\s]*)", re.escape(address)))


def is_media(url: str, rules: Rules) -> bool:
    """Whether the address of an image is a media file's, which only the service can show."""
    forms = rules.forms.get("image", ())
    return any(form.address and address_pattern(form.address).fullmatch(url) for form in forms)


def read(document: Any, rules: Rules, losses: Losses) -> Node:
    """The tree of a document; raises UsageError when it is none."""
    if not isinstance(document, dict) or document.get("type") not in {form.type for form in rules.forms["doc"]}:
        raise UsageError('not a rich-text document: expected an object with "type": "doc"')
    if not isinstance(document.get("content", []), list):
        raise UsageError('not a rich-text document: "content" must be a list')
    return Node("doc", {}, DocumentReader(rules, losses).children(document, 1))


class DocumentReader:
    def __init__(self, rules: Rules, losses: Losses) -> None:
        self.rules = rules
        self.losses = losses
        # Types that one form has, whatever the attributes: nearly all of them.
        sole = {key: forms[0] for key, forms in rules.by_type.items() if len(forms) == 1 and not forms[0].fixed}
        self._nodes = {name: form for (mark, name), form in sole.items() if not mark}
        self._marks = {name: form for (mark, name), form in sole.items() if mark}
        self._bare: dict[str, Mark | None] = {}  # type → the mark that says nothing else

    def children(self, raw: Raw, depth: int) -> list[Node]:
        content = raw.get("content")
        if not isinstance(content, list):
            return []
        if depth >= MAX_DEPTH:
            self.losses.add(f"more than {MAX_DEPTH} levels: what is deeper became text")
            return [text(all_text(raw))]
        result: list[Node] = []
        for child in content:
            self._take(child, depth + 1, result)
        return result

    def node(self, raw: Any, depth: int) -> list[Node]:
        result: list[Node] = []
        self._take(raw, depth, result)
        return result

    def _take(self, raw: Any, depth: int, result: list[Node]) -> None:
        """Puts the nodes of one object at the end of the result."""
        if not isinstance(raw, dict):
            self.losses.add("something that is not a node was left out")
            return
        form = self.form(raw, mark=False)
        if form is None:
            result += self._unknown(raw, depth)
            return
        said = spelling(raw, form)
        marks = self.marks(raw) if "marks" in raw else ()
        if form.kind == "text":
            words = raw.get("text")
            if words and isinstance(words, str):
                result.append(Node("text", said, [], words, marks) if said else text(words, marks))
            return
        attrs = self.attrs(form, raw["attrs"]) if "attrs" in raw or form.address else {}
        content = self.children(raw, depth) if "content" in raw else []
        result.append(Node(form.kind, attrs | said if said else attrs, content, "", marks))

    def _unknown(self, raw: Raw, depth: int) -> list[Node]:
        self.losses.add(f"unknown node {raw.get('type')!r}: only its text is kept")
        words = raw["text"] if isinstance(raw.get("text"), str) else _first_text(raw.get("attrs"))
        return [*([text(words, self.marks(raw))] if words else []), *self.children(raw, depth)]

    def form(self, raw: Raw, *, mark: bool) -> NodeForm | None:
        name = raw.get("type")
        if isinstance(name, str) and (sole := (self._marks if mark else self._nodes).get(name)):
            return sole
        forms = self.rules.by_type.get((mark, name), []) if isinstance(name, str) else []
        attrs = raw.get("attrs")
        attrs = attrs if isinstance(attrs, dict) else {}
        fitting = [form for form in forms if all(attrs.get(key) == value for key, value in form.fixed.items())]
        return next((form for form in fitting if _complete(form, attrs)), fitting[-1] if fitting else None)

    def attrs(self, form: NodeForm, raw: Any) -> Attrs:
        result: Attrs = {}
        if not raw and not form.address:
            return result
        for name, value in raw.items() if isinstance(raw, dict) else ():
            field = form.known.get(name)
            if field and field.valid(value):
                result |= field.read(value)
            elif name not in form.fixed and value is not None:
                self.losses.add(f"{form.type}: attribute {name!r} is unknown or out of range")
        if form.address:
            parts = re.findall(r"\{(\w+)\}", form.address)
            result["url"] = form.address.format(**{part: quote(result.pop(part, ""), safe="") for part in parts})
        return result

    def marks(self, raw: Raw) -> tuple[Mark, ...]:
        found = raw.get("marks")
        if not found:
            return ()
        result = []
        for mark in found if isinstance(found, list) else ():
            if isinstance(mark, dict) and len(mark) == 1 and (bare := self._of_type(mark.get("type"))):
                result.append(bare)
                continue
            form = self.form(mark, mark=True) if isinstance(mark, dict) else None
            if form is None or not _complete(form, mark.get("attrs") or {}):
                self.losses.add(f"unknown mark {mark.get('type') if isinstance(mark, dict) else mark!r} left out")
                continue
            result.append(Mark(form.kind, self.attrs(form, mark.get("attrs"))))
        return tuple(result)

    def _of_type(self, name: Any) -> Mark | None:
        """The mark of a type that says nothing else, where it need not."""
        if not isinstance(name, str):
            return None
        if name not in self._bare:
            form = self._marks.get(name)
            self._bare[name] = Mark(form.kind, {}) if form and _complete(form, {}) else None
        return self._bare[name]


def spelling(raw: Raw, form: NodeForm) -> Attrs:
    """Which of the ways to say nothing a node has: empty or absent attributes, marks, content."""
    if "attrs" not in raw and "marks" not in raw and ("content" in raw or form.kind == "text"):
        return NO_ATTRS
    said = []
    if "attrs" in raw and raw["attrs"] == {} and form.fields:
        said.append("attrs")
    if "marks" in raw and raw["marks"] == [] and form.marks:
        said.append("marks")
    if "content" not in raw and form.kind != "text" and form.table.get("holds"):
        said.append("content")
    return {SPELLING: said} if said else NO_ATTRS


def spelt(result: DocumentNode, node: Node, form: NodeForm) -> DocumentNode:
    """The node with its own way to say nothing."""
    said = node.attrs.get(SPELLING)
    for name in said if isinstance(said, list) else ():
        if name == "attrs" and form.fields:
            result.setdefault("attrs", {})
        elif name == "marks" and form.marks:
            result.setdefault("marks", [])
        elif name == "content" and not result.get("content") and not form.table.get("hollow"):
            result.pop("content", None)
    return result


def _complete(form: NodeForm, attrs: Raw) -> bool:
    return isinstance(attrs, dict) and all(
        field.outer in attrs and field.valid(attrs[field.outer]) for field in form.demands
    )


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


class DocumentWriter:
    """Writes trees that `fit` has made valid; ids that the format demands are counted.

    With `consume` a node's children are let go as they are written, so that tree and document are never there at once.
    """

    def __init__(self, rules: Rules, *, consume: bool = False) -> None:
        self.rules = rules
        self.consume = consume
        self.counts: dict[str, int] = {}

    def document(self, root: Node) -> DocumentNode:
        return {"version": 1, "type": "doc", "content": self._children(root)}

    def node(self, node: Node) -> DocumentNode:
        if node.kind == "text":
            result: DocumentNode = {"type": "text", "text": node.text}
        else:
            form, attrs = self.form_of(node)
            if node.kept and not node.attrs.keys() - {SPELLING} and form.table.get("bare"):
                attrs = {}
            result = {"type": form.type}
            if attrs or (form.has_attrs and form.table.get("attrs_needed")):
                result["attrs"] = numbered(node.kind, attrs, self.counts)
            if node.content or form.table.get("holds"):
                result["content"] = self._children(node)
        if node.marks:
            result["marks"] = [self.mark(mark) for mark in node.marks]
        return spelt(result, node, self.rules.forms[node.kind][0]) if SPELLING in node.attrs else result

    def _children(self, node: Node) -> list[DocumentNode]:
        children = node.content
        if not self.consume:
            return [self.node(child) for child in children]
        node.content = []
        if len(children) == 1:
            return [self.node(children.pop())]  # a list that grows would take half as much again
        children.reverse()
        written: list[DocumentNode] = []
        while children:
            written.append(self.node(children.pop()))
        return written

    def mark(self, mark: Mark) -> DocumentMark:
        form, attrs = form_of(self.rules, mark.kind, mark.attrs) or (self.rules.forms[mark.kind][0], {})
        return {"type": form.type, "attrs": attrs} if attrs else {"type": form.type}

    def form_of(self, node: Node) -> tuple[NodeForm, Attrs]:
        return form_of(self.rules, node.kind, node.attrs) or (self.rules.forms[node.kind][0], {})


def numbered(kind: str, attrs: Attrs, counts: dict[str, int]) -> Attrs:
    """The attributes with `{count}` as the next number of the kind."""
    for name, value in attrs.items():
        if isinstance(value, str) and value.endswith(COUNT):
            counts[kind] = counts.get(kind, 0) + 1
            attrs[name] = value.replace(COUNT, str(counts[kind]))
    return attrs


def form_of(rules: Rules, kind: str, attrs: Attrs) -> tuple[NodeForm, Attrs] | None:
    """The first form that can say these attributes, and how; None when none can."""
    for form in rules.forms.get(kind, ()):
        given = attrs
        if form.address:
            match = address_pattern(form.address).fullmatch(str(attrs.get("url", "")))
            if not match:
                continue
            given = {**attrs, **{name: unquote(value) for name, value in match.groupdict().items()}}
        written = dict(form.fixed)
        for field in form.fields:
            value = field.write(given) if given else field.default
            if value is not None:
                written[field.outer] = value
            elif field.needed:
                break
        else:
            return form, written
    return None
