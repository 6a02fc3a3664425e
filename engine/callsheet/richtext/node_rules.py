"""Node definitions made ready: indexes per format, and which node may stand where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from .attribute_fields import AttrField, attribute_fields
from .tree import Attrs

if TYPE_CHECKING:
    from ..language.shape import richtext as shape

    Definitions = Mapping[str, shape.NodeDefinition]


class NodeForm:
    """One way a kind is said in the document format."""

    def __init__(self, kind: str, table: shape.DocumentForm) -> None:
        self.kind = kind
        self.type = table["type"]
        self.table = table
        self.fixed: Attrs = table.get("fixed", {})
        self.fields: list[AttrField] = attribute_fields(table.get("attrs", {}))
        self.known = {field.outer: field for field in self.fields}
        self.demands = [field for field in self.fields if field.needed and field.default is None]
        self.has_attrs = "attrs" in table
        self.marks = frozenset(table.get("marks", ()))
        self.starts = frozenset(table.get("starts", ()))
        self.least = table.get("least", 0)
        self.most = table.get("most", 0)
        self.address = table.get("address")
        values = {field.outer: field.default for field in self.fields if field.needed}
        # What is written where a node says nothing; None where that is not enough.
        self.defaults = None if self.address or None in values.values() else {**self.fixed, **values}


def with_bases(nodes: Definitions) -> dict[str, shape.NodeDefinition]:
    """Definitions with `like` carried out: what is not said is as in the other one."""
    result: dict[str, shape.NodeDefinition] = {}
    for kind, table in nodes.items():
        base = nodes[table["like"]] if "like" in table else None
        if base is None:
            result[kind] = table
            continue
        merged = cast("shape.NodeDefinition", {**base, **table})
        own, other = table.get("adf"), base.get("adf")
        if isinstance(own, dict) and isinstance(other, dict):
            merged["adf"] = cast("shape.DocumentForm", {**other, **own})
        result[kind] = merged
    return result


def _said_of_kinds(key: str) -> cached_property[Any]:
    """What the definitions that have this key say there, by kind."""
    return cached_property(lambda rules: {kind: said[key] for kind, said in rules.nodes.items() if key in said})


class Rules:
    """What the definitions say, in the shapes that readers and writers ask for.

    In `literal` text, which is not a person's own, no words of Markdown make a mention, a macro or the like.
    """

    def __init__(self, nodes: Definitions, *, literal: bool = False) -> None:
        self.nodes = with_bases(nodes)
        self.literal = literal
        self._worded: Definitions = {} if literal else self.nodes
        self.groups: dict[str, str] = {kind: table["group"] for kind, table in self.nodes.items()}
        self.inline = frozenset(kind for kind, group in self.groups.items() if group == "inline")
        self.marks = frozenset(kind for kind, group in self.groups.items() if group == "mark")

    def group(self, kind: str) -> str:
        return self.groups.get(kind, "block")

    def definition_of(self, kind: str) -> shape.NodeDefinition:
        """The definition of a kind; an empty one for a kind that has none."""
        return self.nodes.get(kind) or {}

    # --- the document format ---

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
    def default_attributes(self) -> dict[str, Attrs]:
        """Kind → attributes that its first form adds where a node does not say them."""
        found: dict[str, Attrs] = {}
        for kind, forms in self.forms.items():
            found[kind] = {
                k: v
                for f in forms[0].fields
                if f.default is not None
                for k, v in f.neutral_attributes(f.default).items()
            }
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
    def sole_forms(self) -> tuple[dict[str, NodeForm], dict[str, NodeForm]]:
        """Types of nodes, and of marks, that one form has whatever their attributes, nearly all of them → the form."""
        sole = {key: forms[0] for key, forms in self.by_type.items() if len(forms) == 1 and not forms[0].fixed}
        nodes, marks = (
            {name: sole[of_mark, name] for of_mark, name in sole if of_mark is which} for which in (False, True)
        )
        return nodes, marks

    @cached_property
    def untitled(self) -> frozenset[str]:
        """Blocks that have no title in the document format."""
        titled = {k for k, forms in self.forms.items() for form in forms for f in form.fields if f.name == "title"}
        return frozenset(kind for kind in self.forms.keys() - titled if self.group(kind) == "block")

    @cached_property
    def leaves_in(self) -> dict[str, frozenset[str]]:
        """Kind of what holds text → kinds in it that are always sayable and hold nothing."""
        return {kind: held & self.leaf_kinds for kind, held in self.holds.items() if "text" in held}

    @cached_property
    def holds(self) -> dict[str, frozenset[str]]:
        """Kind → kinds that may stand in it, groups spelt out."""
        found = {kind: set(self._spelt(forms)) for kind, forms in self.forms.items()}
        for kind in self.forms.keys() - self.marks:
            for parent in {parent for form in self.forms[kind] for parent in form.table.get("within", ())}:
                found.get(parent, set()).add(kind)
        return {kind: frozenset(kinds) for kind, kinds in found.items()}

    def _spelt(self, forms: Iterable[NodeForm]) -> frozenset[str]:
        names = {name for form in forms for name in form.table.get("holds", ())}
        return frozenset(
            names - {"inline"} | ((self.inline & self.forms.keys()) - {"image"} if "inline" in names else set())
        )

    @cached_property
    def always_sayable(self) -> frozenset[str]:
        """Kinds that the document format can say whatever their attributes and children are."""
        return frozenset(
            kind
            for kind, (form, *_others) in self.forms.items()
            if form.address is None and not form.least and not form.most and not form.demands
        )

    @cached_property
    def leaf_kinds(self) -> frozenset[str]:
        """Inline kinds that hold nothing, and that the document format can always say."""
        return frozenset(kind for kind in self.inline & self.always_sayable if not self.holds[kind])

    @cached_property
    def wordless_marks(self) -> frozenset[str]:
        """Marks that need not say anything."""
        found = self.marks & self.forms.keys()
        return frozenset(k for k in found if not any(field.needed for field in self.forms[k][0].fields))

    @cached_property
    def excluded_marks(self) -> dict[str, frozenset[str]]:
        """Mark → marks that cannot stand with it."""
        return {kind: frozenset(self.definition_of(kind).get("excludes", ())) for kind in self.marks}

    @cached_property
    def keeping_kinds(self) -> frozenset[str]:
        """Kinds that keep their other attributes when what Markdown says of them is edited."""
        return frozenset(kind for kind, table in self.nodes.items() if table.get("keeps"))

    # --- Markdown ---

    # Kind → word of its alerts → attributes.
    alerts: cached_property[dict[str, dict[str, Attrs]]] = _said_of_kinds("alerts")

    # Kind of a special item → what it starts with → attributes.
    markers: cached_property[dict[str, dict[str, Attrs]]] = _said_of_kinds("markers")

    @cached_property
    def alert_words(self) -> dict[str, tuple[str, Attrs]]:
        """Word of an alert → its kind and attributes."""
        return {name: (kind, attrs) for kind, named in self.alerts.items() for name, attrs in named.items()}

    @cached_property
    def item_signs(self) -> dict[str, tuple[str, Attrs]]:
        """What a special item starts with → its kind and attributes."""
        return {sign: (kind, attrs) for kind, signs in self.markers.items() for sign, attrs in signs.items()}

    @cached_property
    def item_sign_pattern(self) -> re.Pattern[str]:
        return re.compile(f"(?:{'|'.join(map(re.escape, self.item_signs)) or '(?!)'})(?=\\s|$)", re.IGNORECASE)

    # Kind of a list with special items → their kind.
    items_of_lists: cached_property[dict[str, str]] = _said_of_kinds("items")

    @cached_property
    def lists_of_items(self) -> dict[str, str]:
        """Kind of a special item → that of its list."""
        return {items: kind for kind, items in self.items_of_lists.items()}

    @cached_property
    def tags(self) -> dict[str, list[shape.HtmlForm]]:
        """Kind → the HTML that says it."""
        said = {kind: found["html"] for kind, found in self.nodes.items() if "html" in found}
        every = {kind: forms if isinstance(forms, list) else [forms] for kind, forms in said.items()}
        return {k: [{"tag": one} if isinstance(one, str) else one for one in forms] for k, forms in every.items()}

    @cached_property
    def mark_tags(self) -> dict[str, str]:
        """Mark → the tag that says it whole."""
        own = {kind: forms[0] for kind, forms in self.tags.items() if kind in self.marks}
        return {kind: form["tag"] for kind, form in own.items() if form.keys() == {"tag"}}

    @cached_property
    def links(self) -> dict[str, shape.LinkForm]:
        """Kind → how it is written as a link; one whose scheme starts with that of another comes before it."""
        found = {kind: said["link"] for kind, said in self._worded.items() if "link" in said}
        return dict(sorted(found.items(), key=lambda each: -len(each[1]["scheme"])))

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """Kind → templates of the words that say it."""
        return {kind: said["text"] for kind, said in self._worded.items() if "text" in said}

    @cached_property
    def words_alone(self) -> dict[str, list[str]]:
        """Kind → words that say it where they are a whole paragraph."""
        return {kind: said["alone"] for kind, said in self._worded.items() if "alone" in said}

    @cached_property
    def kinds_by_words(self) -> dict[str, str]:
        """Words of `alone` in small letters → kind."""
        return {word.lower(): kind for kind, words in self.words_alone.items() for word in words}

    # Kind → what becomes of several linked ones that are a whole paragraph.
    rows_become: cached_property[dict[str, str]] = _said_of_kinds("row")

    # Kind → format → attribute → value in Markdown → what the format calls it.
    names: cached_property[dict[str, dict[str, dict[str, dict[str, str]]]]] = _said_of_kinds("names")

    @cached_property
    def schemes(self) -> tuple[str, ...]:
        """What addresses start with that are no links."""
        return tuple(said["scheme"] for said in self.links.values())

    def sign_of_state(self, kind: str, attrs: Attrs) -> str:
        """What stands for the state of a special item in an ordinary one; empty where nothing does."""
        signs = self.definition_of(kind).get("bullets", {})
        return next((sign for sign, said in signs.items() if said.items() <= attrs.items()), "")

    # --- the wiki's formats ---

    def storage_forms(self) -> list[tuple[str, shape.StorageFormDefinition]]:
        """(kind, form) of every form in storage XHTML, in the order of the definitions."""
        return [(kind, form) for kind, said in self.nodes.items() for form in said.get("storage", ())]

    def wiki_forms(self) -> list[tuple[str, shape.WikiForm]]:
        """(kind, form) of every form in wiki markup, in the order of the definitions."""
        return [(kind, form) for kind, said in self.nodes.items() for form in said.get("wiki", ())]

    @cached_property
    def macro_frame(self) -> shape.MacroFrame:
        """What every macro of storage XHTML is made of."""
        return self.definition_of("macro").get("frame") or cast("shape.MacroFrame", {})

    @cached_property
    def value_elements(self) -> frozenset[str]:
        """Elements of storage XHTML that hold a value of what they stand in, and no words for a reader."""
        document, parameter = self.definition_of("macro").get("document"), self.macro_frame.get("parameter")
        found = [document["attribute"], document["parameter"], document["value"]] if document else []
        return frozenset([*found, parameter] if parameter else found)

    # Kind → its attribute → that of the node in it.
    attributes_for_child: cached_property[dict[str, dict[str, str]]] = _said_of_kinds("onto")

    def style_values(self, kind: str) -> dict[str, str]:
        """The names that a property of CSS has for values of a mark, such as a color's → the neutral value."""
        forms = (form.get("values", {}) for form in self.tags.get(kind, ()) if "style" in form)
        return {name: value for values in forms for name, value in values.items() if isinstance(value, str)}

    # Mark on blocks → the declaration that says it in storage XHTML.
    block_styles: cached_property[dict[str, shape.Styled]] = _said_of_kinds("style")
