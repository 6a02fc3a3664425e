"""The neutral tree written as storage XHTML."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from ..adf.document_forms import is_media
from ..fit_to_document import FLATTEN
from ..node_rules import Rules
from ..plain_text import note_content_only, words_instead
from ..tree import Attrs, Losses, Mark, Node, Verbatim, text_node, write_nested
from .extension_sizes import as_macro, column_widths, widths_of_layout
from .framed_nodes import DocumentNodes
from .storage_forms import BESIDE, INSIDE, RICH, StorageForm, StorageForms, kept_form
from .xml import cdata_section, escape_xml, well_formed, xml_tag


def write_storage(root: Node, rules: Rules, losses: Losses) -> str:
    return StorageWriter(rules, losses).content(root)


class StorageWriter:
    def __init__(self, rules: Rules, losses: Losses) -> None:
        self.rules = rules
        self.losses = losses
        self.forms = StorageForms(rules)
        self.framed = DocumentNodes(rules)
        self.styles = rules.block_styles
        self.items = rules.items_of_lists
        self.count = 0

    def content(self, node: Node) -> str:
        """The children; runs of inline nodes with their marks around them."""
        parts: list[str] = []
        run: list[Node] = []
        for place, child in enumerate(node.content):
            if child.kind in self.rules.inline or (child.kind == "figure" and node.kind in ("paragraph", "heading")):
                run.append(child)
            else:
                parts += [self.inline(run), self._with_neighbours(node.content, place)]
                run = []
        return "".join([*parts, self.inline(run)])

    def _with_neighbours(self, nodes: list[Node], place: int) -> str:
        """A block, with the element that is around it and its neighbours of the same kind where it is the first."""
        node = nodes[place]
        form = self.forms.form_to_write(node)
        around = form.table.get("around") if form else None
        if not around:
            return self.block(node)
        if place and nodes[place - 1].kind == node.kind:
            return ""
        run = takewhile(lambda other: other.kind == node.kind, nodes[place:])
        return xml_tag(around, {}, "".join(self.block(one) for one in run))

    def inline(self, nodes: list[Node]) -> str:
        pieces = [
            (self._sayable(node), escape_xml(node.text) if node.kind == "text" else self.block(node)) for node in nodes
        ]
        return write_nested(pieces, lambda mark, opening: self.mark(mark, opening=opening))

    def _sayable(self, node: Node) -> list[Mark]:
        for mark in node.marks:
            if not self.forms.by_kind.get(mark.kind):
                self.losses.note(f"{mark.kind} cannot be said in storage format: the words are kept")
        return [mark for mark in node.marks if self.forms.by_kind.get(mark.kind)]

    def mark(self, mark: Mark, *, opening: bool) -> str:
        form = self.forms.by_kind[mark.kind][0]
        if not opening:
            return f"</{form.element}>"
        attrs = form.said(form.attrs, mark.attrs) | _others(mark.attrs)
        styles = form.said(form.styles, mark.attrs)
        if styles:
            attrs["style"] = " ".join(f"{name}: {value};" for name, value in styles.items())
        return xml_tag(form.element, attrs, "\0").removesuffix(f"\0</{form.element}>")

    def block(self, node: Node) -> str:
        if isinstance(node, Verbatim):
            return str(node.source)
        source = node.attrs.get("source")
        if node.kind == "macro" and isinstance(source, str) and well_formed(source):
            return source
        if (framed := self._framed(node)) is not None:
            return framed
        form = self.forms.form_to_write(node)
        if form is not None:
            self._tell(node)
            return self._formed(node, form)
        return self._other(node)

    def _tell(self, node: Node) -> None:
        for mark in node.marks:
            if self.rules.group(node.kind) != "inline" and mark.kind not in self.styles:
                self.losses.note(f"{mark.kind} of a {node.kind} cannot be said in storage format")

    def _formed(self, node: Node, form: StorageForm) -> str:
        if form.macro is not None:
            return self._macro(node, form)
        attrs = {
            **form.said(form.attrs, node.attrs),
            **form.fixed,
            **widths_of_layout(node, self.rules),
            **_others(node.attrs),
        }
        attrs |= self._styled(node, attrs)
        if form.inner:
            said = xml_tag(form.inner, form.said(form.inner_attrs, node.attrs), kept_form(node.attrs, INSIDE))
            return xml_tag(form.element, attrs, said + self._label(node, form))
        if "label" in form.table:
            return xml_tag(form.element, attrs, self._label(node, form))
        if form.table.get("says"):
            return xml_tag(form.element, attrs, escape_xml(str(node.attrs[form.table["says"]])))
        inner = self._inside(node, form)
        if not inner and form.element in ("p", "li", "td", "th", "blockquote", "pre"):
            return (
                f"<{form.element}></{form.element}>"
                if not attrs
                else xml_tag(form.element, attrs, "\0").replace("\0", "")
            )
        return xml_tag(form.element, attrs, inner)

    def _inside(self, node: Node, form: StorageForm) -> str:
        body = form.table.get("body")
        if form.plain:
            return escape_xml("".join(child.text for child in node.content))
        inner = self._items(node) if node.kind in self.items else self.content(node)
        for wrapper in filter(None, [form.table.get("wrap"), body]):
            inner = xml_tag(wrapper, {}, inner)
        sizes = column_widths(node, form.table["columns"]) if "columns" in form.table else ""
        return kept_form(node.attrs, BESIDE) + sizes + self._fields(node, form) + inner

    def _styled(self, node: Node, attrs: dict[str, str]) -> dict[str, str]:
        """The style of a block with the declarations of its marks that it does not have yet."""
        style = attrs.get("style", "")
        for mark in node.marks:
            said = self.styles.get(mark.kind)
            value = said and next((v for v, n in said["values"].items() if n == mark.attrs.get(said["as"])), None)
            if said and value and said["property"] not in style:
                style = f"{style} {said['property']}: {value};".lstrip()
        return {"style": style} if style else {}

    def _fields(self, node: Node, form: StorageForm) -> str:
        parts = []
        for field in form.fields:
            value: Any = form.said([field], node.attrs).get(field.outer)
            if value is None and field.rule.get("counted"):
                self.count += 1
                value = str(self.count)
            parts.append(xml_tag(field.outer, {}, escape_xml(value)) if value is not None else "")
        return "".join(parts)

    def _items(self, node: Node) -> str:
        return self.listed([(child.kind in self.items, self.block(child)) for child in node.content])

    def listed(self, written: list[tuple[bool, str]]) -> str:
        """Written items and lists: a list, which is marked so, belongs into the body of the item before it."""
        parts: list[str] = []
        for is_list, words in written:
            end = self._tail(parts[-1]) if is_list and parts else 0
            if end > 0:
                parts[-1] = parts[-1][:end] + words + parts[-1][end:]
            else:
                parts.append(words)
        return "".join(parts)

    def _tail(self, item: str) -> int:
        """Where in a written item its body ends."""
        bodies = [
            form.table["body"]
            for kind in self.items.values()
            for form in self.forms.by_kind.get(kind, ())
            if "body" in form.table
        ]
        return max((item.rfind(f"</{name}>") for name in bodies), default=0)

    def _label(self, node: Node, form: StorageForm) -> str:
        caption = "".join(self.block(child) for child in node.content if child.kind == "caption")
        label = node.attrs.get("label")
        if label and "label" in form.table and (rich := kept_form(node.attrs, RICH)):
            return caption + xml_tag(form.table["label"]["rich"], {}, rich)
        return caption + (
            xml_tag(form.table["label"]["plain"], {}, cdata_section(label)) if label and "label" in form.table else ""
        )

    def _macro(self, node: Node, form: StorageForm) -> str:
        frame = form.frame
        params = {
            **form.fixed,
            **form.said(form.params, node.attrs),
            **{k: str(v) for k, v in node.attrs.get("params", {}).items()},
        }
        inner = "".join(
            xml_tag(frame["parameter"], {frame["name"]: name}, escape_xml(value)) for name, value in params.items()
        )
        body = form.table.get("body")
        if body == "plain":
            inner += xml_tag(frame["plain"], {}, cdata_section("".join(child.text for child in node.content)))
        elif body == "rich":
            inner += xml_tag(frame["rich"], {}, self.content(node) or "<p></p>")
        return xml_tag(frame["element"], {frame["name"]: form.macro or "", **_others(node.attrs)}, inner)

    def _other(self, node: Node) -> str:
        """A kind without a form here: as the kind its definition turns it into, its content, or its words."""
        if node.kind in ("figure", "gallery"):
            return self._figures(node)
        for attempt in self.rules.definition_of(node.kind).get("unfit", ()):
            if attempt in self.forms.by_kind and attempt != "paragraph":
                return self._turned(node, attempt)
        if node.content:
            note_content_only(node, "storage format", self.losses)
            nodes = FLATTEN["titled"](node, self.rules)
            return (
                self.content(node.with_content(nodes))
                if node.kind != "caption"
                else xml_tag("p", {}, self.content(node))
            )
        inner = escape_xml(words_instead(node, "storage format", self.rules, self.losses))
        return xml_tag("p", {}, inner) if inner and self.rules.group(node.kind) == "block" else inner

    def _framed(self, node: Node) -> str | None:
        """A node of the document format as a macro where it is one, or in the frame of such nodes."""
        if not self.framed.is_framed(node):
            return None
        macro = as_macro(node, self.rules, self.content)
        return self.framed.write_framed(node, self.content) if macro is None else macro

    def _turned(self, node: Node, kind: str) -> str:
        sign = self.rules.sign_of_state(node.kind, node.attrs)
        if node.kind not in ("expand", "nestedexpand"):
            self.losses.note(f"{node.kind} became {kind} in storage format")
        return self.block(Node(kind, node.attrs, [*([text_node(sign + " ")] if sign else []), *node.content]))

    def _figures(self, node: Node) -> str:
        caption = [child for child in node.content if child.kind == "caption"]
        images = [child for child in node.content if child.kind == "image"]
        marks = tuple(mark for mark in node.marks if mark.kind == "link")
        onto = self.rules.definition_of(node.kind).get("onto", {})
        own = {outer: str(node.attrs[name]) for name, outer in onto.items() if name in node.attrs}
        if any(is_media(str(image.attrs.get("url", "")), self.rules) for image in images):
            self.losses.note("an image is a media file: a page names the attached file, which is not known here")
        if "width" in node.attrs:
            self.losses.note(f"the width of a {node.kind} cannot be said in storage format")
        return "".join(
            self.inline([Node(image.kind, _with_others(image.attrs, own), caption, "", image.marks or marks)])
            for image in images
        )


def _with_others(attrs: Attrs, others: dict[str, str]) -> Attrs:
    return {**attrs, "attributes": {**others, **_others(attrs)}} if others else attrs


def _others(attrs: Attrs) -> dict[str, str]:
    """Attributes of the element that no field names."""
    found = attrs.get("attributes")
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
