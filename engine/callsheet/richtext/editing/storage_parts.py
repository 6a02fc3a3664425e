"""Storage XHTML as parts that know their source."""

from __future__ import annotations

from dataclasses import dataclass

from ..lossless_markers import marker_label
from ..markdown.block_writer import LANGUAGE
from ..node_rules import Rules
from ..storage.storage_forms import BLOCKS, StorageForm
from ..storage.xml import Element, Words, parse_fragment
from .sayable import Sayable
from .source_parts import Part
from .storage_words import StorageWords, words_in

PARTS = ("item", "row", "cell", "header", "task", "blocktask", "caption")
SEALED = ("blocktask", "caption", "gallery", "figure")  # no text shows the blocks in them


@dataclass(slots=True, frozen=True)
class Span:
    """Where a part starts and ends in the source, and what it holds starts and ends."""

    start: int
    inner: int
    close: int
    end: int
    element: Element | None = None
    form: StorageForm | None = None
    rest: tuple[int, int] | None = None  # from where to where the end of an item stands, behind lists in it


class StorageParts:
    def __init__(self, source: str, rules: Rules, sayable: Sayable) -> None:
        self.source = source
        self.rules = rules
        self.sayable = sayable
        self.words = StorageWords(source, rules, sayable)
        self.forms = self.words.forms
        self.items = rules.items_of_lists
        self._block: dict[int, bool] = {}

    def root(self) -> Part:
        root = parse_fragment(self.source)
        return Part("doc", {}, Span(0, 0, len(self.source), len(self.source)), self.blocks(root.children))

    # --- blocks ---

    def blocks(self, children: list[Element | Words], holder: str = "doc") -> list[Part]:
        """The parts among the children of what is of the kind `holder`."""
        parts: list[Part] = []
        run: list[Element | Words] = []
        for child in children:
            if isinstance(child, Words):
                run += [child] if run or child.strip() else []
            elif self.is_block(child):
                parts += [*self._run(run), *self.block(child, holder)]
                run = []
            elif self.words.is_macro(child) and self.forms.form_of_element(child) is None and not self._visible(run):
                parts += [*self._run(run), self._reference(child)]
                run = []
            else:
                run.append(child)
        return parts + self._run(run)

    def _visible(self, run: list[Element | Words]) -> bool:
        return any(child.strip() if isinstance(child, Words) else child.name != "!" for child in run)

    def _run(self, run: list[Element | Words]) -> list[Part]:
        """Words that stand between blocks are a paragraph."""
        while run and isinstance(run[-1], Words) and not run[-1].strip():
            run.pop()
        if not run:
            return []
        lead, line = self.words.line(run)
        start, end = run[0].start, run[-1].end
        return [Part("paragraph", {}, Span(start, start, end, end), line=line, lead=lead)] if line else []

    def is_block(self, element: Element) -> bool:
        key = id(element)
        if key not in self._block:
            self._block[key] = self._is_block(element)
        return self._block[key]

    def _is_block(self, element: Element) -> bool:
        form = self.forms.form_of_element(element)
        group = self.rules.group(form.kind) if form else ""
        if form and form.element == "a":
            return False
        if group in ("block", "part"):
            return True
        if form is None and self.words.is_macro(element):
            return any(
                child.name in (self.forms.frame["rich"], self.forms.frame["plain"]) for child in element.elements()
            )
        if group == "inline":
            return False
        return element.name in BLOCKS or any(self.is_block(child) for child in element.elements())

    def block(self, element: Element, holder: str = "doc") -> list[Part]:
        """The parts of a block element; those of an element that only groups others are its parts' own."""
        form = self.forms.form_of_element(element)
        if element.deep:
            return [self._reference(element)]
        if form is None and self.words.is_macro(element):
            return [self._container(element, None)]
        kind = form.kind if form else ""
        if form is None and (framed := self._framed(element)) is not None:
            return [framed] if framed.parts else [self._reference(element)]
        if form is None or (kind in PARTS and kind not in self.rules.holds.get(holder, ())):
            return self.blocks(element.children, holder)
        if kind == "paragraph" and any(self.is_block(child) for child in element.elements()):
            return self.blocks(element.children, holder)
        if self.rules.group(kind) in ("mark", "inline"):
            return self.blocks(element.children, holder)
        if kind in ("paragraph", "heading"):
            return self._line(element, form)
        if kind in ("tasks", "table"):
            return self._table(element, form) if kind == "table" else self._tasks(element, form)
        if kind in ("code", "rule"):
            return [self._plain(element, form)]
        return [self._container(element, form)] if kind not in SEALED else [self._reference(element)]

    def _framed(self, element: Element) -> Part | None:
        """A node of the document format around what it holds, without what stands beside it for older programs."""
        frame = self.rules.definition_of("macro").get("document")
        node = element.child(frame["node"]) if frame and element.name == frame["element"] else None
        if node is None or frame is None:
            return None
        body = node.child(frame["content"]) or node
        parts = self.blocks(body.children)
        own = self.source[element.start : body.inner]
        return Part(
            "macro",
            {},
            self._span(element, body, None),
            parts,
            label=marker_label(node.attrs.get("type", node.name), own),
        )

    def _span(self, element: Element, body: Element | None, form: StorageForm | None) -> Span:
        body = body or element
        return Span(element.start, body.inner, body.close, element.end, element, form)

    def _body(self, element: Element, form: StorageForm | None) -> Element | None:
        if form is None or form.macro is not None:
            return element.child((form.body if form else None) or self.forms.frame["rich"])
        return element.child(form.body) if form.body else element

    def _line(self, element: Element, form: StorageForm) -> list[Part]:
        lead, line = self.words.line(element.children)
        attrs = self.sayable.attrs(form.kind, form.read_attributes(element))
        return [Part(form.kind, attrs, self._span(element, None, form), line=line, lead=lead)] if line else []

    def _plain(self, element: Element, form: StorageForm) -> Part:
        body = self._body(element, form)
        while body is not None and len(body.elements()) == 1 and not words_in(body):
            body = body.elements()[0]
        if body is not None and body.elements() and form.kind == "code":
            return self._reference(element)  # marks in it, which code has none of in Markdown
        attrs = self.sayable.attrs(form.kind, form.read_attributes(element))
        return Part(form.kind, attrs, self._span(element, body, form), words=body.text() if body else "")

    def _container(self, element: Element, form: StorageForm | None) -> Part:
        body = self._body(element, form)
        if body is None:
            plain = element.child(self.forms.frame["plain"]) if form is None else None
            return self._code(element, plain) if plain else self._reference(element)
        attrs = form.read_attributes(element) if form else {}
        kind = form.kind if form else "macro"
        parts = self.blocks(body.children, kind)
        if kind in ("bullets", "numbers"):
            parts = [part if part.kind == "item" else item_around(part) for part in parts]
        said = self.sayable.attrs(kind, attrs) if form else {}
        span = self._span(element, body, form)
        is_named = self.rules.group(kind) == "block" and not self.sayable.has_construct(kind)
        if is_named or kind == "column" or (kind == "panel" and not said):
            own = self.source[span.start : span.inner]
            return Part(kind, {}, span, parts, label=marker_label(self.words.name(element), own))
        return Part(kind, dict(said), span, parts)

    def _code(self, element: Element, body: Element) -> Part:
        """A macro around plain text: code in a language that is called as the macro."""
        name = element.attrs.get(self.forms.frame["name"], "")
        said = {"language": name} if LANGUAGE.fullmatch(name) else {}
        return Part("code", dict(said), self._span(element, body, None), words=body.text())

    def _reference(self, element: Element) -> Part:
        own = self.source[element.start : element.end]
        span = Span(element.start, element.inner, element.close, element.end, element)
        return Part("macro", {}, span, label=marker_label(self.words.name(element), own))

    def _table(self, element: Element, form: StorageForm) -> list[Part]:
        rows: list[Part] = []
        pending = list(element.elements())
        while pending:
            found = pending.pop(0)
            own = self.forms.form_of_element(found)
            if own is None or own.kind != "row":
                pending = [*found.elements(), *pending] if own is None else pending
                if own is not None:
                    return [self._reference(element)]
                continue
            cells = [self._cell(cell) for cell in found.elements() if cell.name != "!"]
            rows += [Part("row", {}, self._span(found, None, own), cells)] if cells else []
        return [Part("table", {}, self._span(element, None, form), rows)] if rows else []

    def _cell(self, element: Element) -> Part:
        form = self.forms.form_of_element(element)
        return self._container(element, form) if form else self._reference(element)

    def _tasks(self, element: Element, form: StorageForm) -> list[Part]:
        parts: list[Part] = []
        for item in element.elements():
            own = self.forms.form_of_element(item)
            body = self._body(item, own) if own else None
            if own is None or body is None:
                continue
            inner = [child for child in body.children if not self._is_list(child)]
            lists = [child for child in body.elements() if self._is_list(child)]
            lead, line = self.words.line(inner)
            end = lists[0].start if lists else item.end
            rest = (lists[-1].end, item.end) if lists else None
            span = Span(item.start, body.inner, lists[0].start if lists else body.close, end, item, own, rest)
            parts.append(
                Part(
                    own.kind,
                    {"done": bool(own.read_attributes(item).get("done"))},
                    span,
                    line=line,
                    lead=lead,
                    fixed=bool(lists),
                )
            )
            parts += [part for nested in lists for part in self.block(nested)]
        return [Part(form.kind, {}, self._span(element, None, form), parts)] if parts else []

    def _is_list(self, child: Element | Words) -> bool:
        form = self.forms.form_of_element(child) if isinstance(child, Element) else None
        return form is not None and form.kind in self.items


def item_around(part: Part) -> Part:
    """The item that a block is which stands in a list without one."""
    start, end = part.source.start, part.source.end
    return Part("item", {}, Span(start, start, end, end), [part], fixed=True)
