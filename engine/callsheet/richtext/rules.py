"""Node definitions made ready: indexes per format, and which node may stand where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from .fields import Field, fields

Definition = Mapping[str, Any]

_WORDS = ("text", "link", "alone")  # what makes a construct out of words, such as a mention: not in text from elsewhere


class NodeForm:
    """One way a kind is said in the document format."""

    def __init__(self, kind: str, table: Mapping[str, Any]) -> None:
        self.kind = kind
        self.type: str = table["type"]
        self.table = table
        self.fixed: Mapping[str, Any] = table.get("fixed", {})
        self.fields: list[Field] = fields(table.get("attrs", {}))
        self.known = {field.outer: field for field in self.fields}
        self.demands = [field for field in self.fields if field.needed and field.default is None]
        self.has_attrs = "attrs" in table
        self.marks = frozenset(table.get("marks", ()))
        self.starts = frozenset(table.get("starts", ()))
        self.least: int = table.get("least", 0)
        self.most: int = table.get("most", 0)
        self.address: str | None = table.get("address")
        self.one: list[str] = table.get("one", [])


def resolved(nodes: Mapping[str, Definition]) -> dict[str, dict[str, Any]]:
    """Definitions with `like` carried out: what is not said is as in the other one."""
    result: dict[str, dict[str, Any]] = {}
    for kind, table in nodes.items():
        base = dict(nodes[table["like"]]) if "like" in table else {}
        form = {**base["adf"], **table["adf"]} if base and "adf" in table else table.get("adf")
        result[kind] = {**base, **table, **({"adf": form} if form else {})}
    return result


class Rules:
    """What the definitions say, in the shapes that readers and writers ask for."""

    def __init__(self, nodes: Mapping[str, Definition], *, literal: bool = False) -> None:
        self.nodes = resolved(nodes)
        self.literal = literal
        self.groups = {kind: table["group"] for kind, table in self.nodes.items()}
        self.inline = frozenset(kind for kind, group in self.groups.items() if group == "inline")
        self.marks = frozenset(kind for kind, group in self.groups.items() if group == "mark")

    def group(self, kind: str) -> str:
        return str(self.groups.get(kind, "block"))

    def get(self, kind: str, key: str, default: Any = None) -> Any:
        return self.nodes.get(kind, {}).get(key, default)

    @cached_property
    def forms(self) -> dict[str, list[NodeForm]]:
        """Kind → its forms in the document format."""
        found: dict[str, list[NodeForm]] = {}
        for kind, table in self.nodes.items():
            adf = table.get("adf")
            if adf:
                forms = [NodeForm(kind, one) for one in (adf if isinstance(adf, list) else [adf])]
                found[kind] = sorted(forms, key=lambda form: form.address is None)  # an address is told by its pattern
        return found

    @cached_property
    def by_type(self) -> dict[tuple[bool, str], list[NodeForm]]:
        """(is a mark, type name) → forms."""
        found: dict[tuple[bool, str], list[NodeForm]] = {}
        for kind, forms in self.forms.items():
            for form in forms:
                found.setdefault((kind in self.marks, form.type), []).append(form)
        return {key: sorted(forms, key=lambda form: -len(form.fixed)) for key, forms in found.items()}

    @cached_property
    def holds(self) -> dict[str, frozenset[str]]:
        """Kind → kinds that may stand in it, groups spelt out."""
        return {kind: self._spelt(form for form in forms) for kind, forms in self.forms.items()}

    def _spelt(self, forms: Iterable[NodeForm]) -> frozenset[str]:
        named = {name for form in forms for name in form.table.get("holds", ())}
        return frozenset(
            named - {"inline"} | ((self.inline & self.forms.keys()) - {"image"} if "inline" in named else set())
        )

    @cached_property
    def always(self) -> frozenset[str]:
        """Kinds that the document format can say whatever their attributes and children are."""
        return frozenset(
            kind
            for kind, (form, *_others) in self.forms.items()
            if form.address is None and not form.least and not form.most and not form.demands
        )

    @cached_property
    def leaves(self) -> frozenset[str]:
        """Inline kinds that hold nothing, and that the document format can always say."""
        return frozenset(kind for kind in self.inline & self.always if not self.holds[kind])

    @cached_property
    def excluded(self) -> dict[str, frozenset[str]]:
        """Mark → marks that cannot stand with it."""
        return {kind: frozenset(self.nodes[kind].get("excludes", ())) for kind in self.marks}

    def with_key(self, key: str) -> dict[str, Any]:
        """Kind → what its definition says under `key`, for those that say it."""
        if self.literal and key in _WORDS:
            return {}
        return {kind: table[key] for kind, table in self.nodes.items() if key in table}

    def rows(self, format_name: str) -> list[tuple[str, dict[str, Any]]]:
        """(kind, form) of every form in a format, in the order of the definitions."""
        return [(kind, form) for kind, table in self.nodes.items() for form in table.get(format_name, ())]
