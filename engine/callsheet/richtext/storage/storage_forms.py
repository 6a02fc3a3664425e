"""Definitions as forms of storage XHTML: which element or macro says a node or mark, and with what."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ..attribute_fields import AttrField, as_number, attribute_fields, spelt_color
from ..node_rules import Rules
from ..tree import Attrs, Node
from .xml import Element, well_formed, write_element

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


# They are blocks, whatever they hold.
BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "legend",
        "main",
        "nav",
        "section",
        "summary",
    ]
)


INSIDE, BESIDE, RICH = "inside", "beside", "rich"  # neutral names of elements that are kept as they are


class StorageForm:
    """One element or macro, with where its attributes, parameters, fields and body are."""

    def __init__(
        self, kind: str, table: shape.StorageFormDefinition, frame: shape.MacroFrame, colors: dict[str, str]
    ) -> None:
        self.kind = kind
        self.colors = colors  # name → `#rrggbb`
        self.table = table
        self.frame = frame
        self.macro = table.get("macro")
        self.element: str = frame["element"] if self.macro else table["element"]
        self.fixed = table.get("fixed", {})
        self.set: Attrs = table.get("set", {})
        self.attrs = attribute_fields(table.get("attrs", {}), renamed=True)
        self.params = attribute_fields(table.get("params", {}), renamed=True)
        self.fields = attribute_fields(table.get("fields", {}), renamed=True)
        self.styles = attribute_fields(table.get("styles", {}), renamed=True)
        self.inner = table.get("inner")
        self.inner_attrs = attribute_fields(table.get("inner_attrs", {}), renamed=True)
        self.required = [field for field in self.inner_attrs or self.attrs if field.rule.get("required")]
        self.named = {field.outer for field in self.attrs} | {*self.fixed} | ({"style"} if self.styles else set())
        self.styled = frozenset(field.outer for field in self.styles)
        self.plain = table.get("body") == "plain"
        self.body = self._body(table.get("body"))  # the child element that holds the content

    def _body(self, body: str | None) -> str | None:
        if self.macro is None:
            return None if body == "plain" else body
        return {"plain": self.frame["plain"], "rich": self.frame["rich"]}.get(body or "")

    # --- reading ---

    def matches(self, element: Element) -> bool:
        if self.macro is not None:
            named = element.attrs.get(self.frame["name"]) == self.macro
            return named and (not self.fixed or self.fixed.items() <= self.macro_parameters(element).items())
        if self.inner:
            inner = element.child(self.inner)
            return inner is not None and all(_has(field, inner.attrs) for field in self.required)
        if self.fixed and not self.fixed.items() <= element.attrs.items():
            return False
        if not all(_has(field, element.attrs) for field in self.required):
            return False
        if "label" in self.table and any(c.name not in self.table["label"].values() for c in element.elements()):
            return False
        return not self.styles or self.styled <= style_of(element).keys()

    def macro_parameters(self, element: Element) -> dict[str, str]:
        name, parameter = self.frame["name"], self.frame["parameter"]
        return {child.attrs.get(name, ""): child.text() for child in element.elements() if child.name == parameter}

    def read_attributes(self, element: Element) -> Attrs:
        """The neutral attributes; what no field names stands under `attributes` and `params`."""
        result = dict(self.set)
        if self.macro is not None:
            given = self.macro_parameters(element)
            _read(self.params, given, result)
            left = {
                k: v for k, v in given.items() if k not in self.fixed and not any(f.outer == k for f in self.params)
            }
            other = {k: v for k, v in element.attrs.items() if k != self.frame["name"]}
            return result | ({"params": left} if left else {}) | ({"attributes": other} if other else {})
        _read(self.attrs, element.attrs, result)
        if self.styles:
            _read(self.styles, {name: self.colors.get(v.lower(), v) for name, v in style_of(element).items()}, result)
        for field in self.fields:
            child = element.child(field.outer)
            if child is not None:
                _read([field], {field.outer: child.text().strip()}, result)
        inner = element.child(self.inner) if self.inner else None
        if inner is not None:
            _read(self.inner_attrs, inner.attrs, result)
            _keep(INSIDE, inner.elements(), result)
        if beside := self.table.get("keep"):
            _keep(BESIDE, [child for child in element.elements() if child.name in beside], result)
        other = {key: value for key, value in element.attrs.items() if key not in self.named}
        return result | ({"attributes": other} if other else {})

    # --- writing ---

    def says(self, node: Node) -> bool:
        """Whether this form can say the node."""
        needed = [field for field in (*self.attrs, *self.inner_attrs) if field.needed]
        return self.set.items() <= node.attrs.items() and all(_write(field, node.attrs) is not None for field in needed)

    def said(self, among: list[AttrField], attrs: Attrs) -> dict[str, str]:
        found = {field.outer: _write(field, attrs) for field in among}
        return {name: value for name, value in found.items() if value is not None}


def _keep(name: str, elements: list[Element], result: Attrs) -> None:
    """Elements that no field says, kept as they are."""
    if words := "".join(write_element(child) for child in elements):
        result[name] = words


def kept_form(attrs: Attrs, name: str) -> str:
    """What was kept, where it is still well-formed."""
    words = attrs.get(name)
    return words if isinstance(words, str) and well_formed(words) else ""


def _has(field: AttrField, attrs: dict[str, str]) -> bool:
    return field.outer in attrs and (not field.pattern or bool(field.pattern.fullmatch(attrs[field.outer])))


def _read(among: list[AttrField], given: dict[str, str], result: Attrs) -> None:
    for field in among:
        if field.outer in given:
            words = given[field.outer]
            number = as_number(words) if field.rule.get("type") in ("integer", "number") else words
            if number is not None:
                found = field.neutral_attributes(number)
                result.update({k: v for k, v in found.items() if k not in result})


def _write(field: AttrField, attrs: Attrs) -> str | None:
    value = attrs.get(field.name)
    if value is None or isinstance(value, (dict, list)):
        return field.default
    if field.types == (str,) and isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    written = field.outer_value({field.name: value})
    return None if written is None else str(written)


def style_of(element: Element) -> dict[str, str]:
    """The declarations of a style attribute, colours as `#rrggbb`."""
    found: dict[str, str] = {}
    for declaration in element.attrs.get("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if value:
            found[name.strip().lower()] = spelt_color(value.strip())
    return found


class StorageForms:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.frame = rules.macro_frame
        self.by_kind: dict[str, list[StorageForm]] = {}
        for kind, table in rules.storage_forms():
            colors = rules.style_values(kind) if "styles" in table else {}
            self.by_kind.setdefault(kind, []).append(StorageForm(kind, table, self.frame, colors))

    @cached_property
    def by_element(self) -> dict[str, list[StorageForm]]:
        """Element name → forms, those with more conditions first."""
        found: dict[str, list[StorageForm]] = {}
        for forms in self.by_kind.values():
            for form in forms:
                found.setdefault(form.element, []).append(form)
        return {name: sorted(forms, key=lambda form: -len(form.fixed)) for name, forms in found.items()}

    @cached_property
    def is_skipped(self) -> frozenset[str]:
        """Elements that only group what others say."""
        return frozenset(
            name for forms in self.by_kind.values() for form in forms for name in form.table.get("skip", ())
        )

    def of_mark(self, element: Element) -> StorageForm | None:
        """The form in which an element is a mark of the words in it."""
        return next(
            (form for form in self.by_element.get(element.name, ()) if self.rules.group(form.kind) == "mark"), None
        )

    def form_of_element(self, element: Element) -> StorageForm | None:
        return next((form for form in self.by_element.get(element.name, ()) if form.matches(element)), None)

    def form_to_write(self, node: Node) -> StorageForm | None:
        saying = [form for form in self.by_kind.get(node.kind, ()) if form.says(node)]
        return max(saying, key=lambda form: len(form.set), default=None)
