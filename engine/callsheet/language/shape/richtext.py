"""Shape of a rich-text construct: one kind of node or mark, and its form in each format."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field
from typing_extensions import TypedDict

from .base import Shape, pattern_key, reference_to

Kind = Annotated[str, reference_to("node", description="A kind of node or mark.")]
Kinds = Annotated[list[str], Field(description="Kinds; `inline` means all inline ones.")]

# `as` is a keyword of Python, so this key cannot stand in a class body.
Named = TypedDict(
    "Named", {"as": Annotated[str, Field(description="The neutral name; default: the same.")]}, total=False
)


class Attribute(Shape, Named, total=False):
    """An attribute in a format: its neutral name, and which values the format takes."""

    type: Annotated[
        Literal["string", "number", "integer", "boolean", "array", "object", "any"],
        Field(description="Default: string."),
    ]
    enum: list[str]
    pattern: Annotated[str, pattern_key(description="The whole value must fit it.")]
    minimum: float
    maximum: float
    min_length: int
    items: Annotated[Literal["string", "number"], Field(description="Of an array.")]
    least: Annotated[int, Field(description="Items an array has at least.")]
    keys: Annotated[list[str], Field(description="The keys of an object.")]
    required: bool
    default: Annotated[Any, Field(description="Written where nothing else is; `{count}` counts nodes of the kind.")]
    counted: Annotated[bool, Field(description="A number of its own where nothing else is said.")]
    values: Annotated[dict[str, Any], Field(description="The format's value → the neutral one.")]
    codec: Annotated[Literal["milliseconds", "percent"], Field(description="How the value is written.")]
    before: Annotated[str, Field(description="Stands before the neutral value.")]
    after: Annotated[str, Field(description="Stands after the neutral value.")]


Attributes = dict[str, str | Attribute]


class DocumentForm(Shape, total=False):
    """A node or mark of the document format."""

    type: Required[str]
    fixed: Annotated[dict[str, Any], Field(description="Attributes that tell this form from others of the type.")]
    attrs: Annotated[Attributes, Field(description="Attribute → its type, or all about it.")]
    attrs_needed: Annotated[bool, Field(description="Attributes are written even where there are none.")]
    bare: Annotated[bool, Field(description="A restored node may go without its defaults.")]
    address: Annotated[str, Field(description="Attributes in braces that together are the neutral `url`.")]
    holds: Kinds
    starts: Annotated[list[str], Field(description="Kinds that its first child must be of.")]
    least: Annotated[int, Field(description="Children it has at least.")]
    most: Annotated[int, Field(description="Children it has at most.")]
    hollow: Annotated[bool, Field(description="A restored node may be empty.")]
    hollow_in: Annotated[list[str], Field(description="Parents in which a restored node may be empty.")]
    plain: Annotated[bool, Field(description="Its text is one run without marks.")]
    marks: Annotated[list[str], Field(description="Marks that may stand on it.")]
    within: Annotated[
        list[str],
        Field(
            description="Parents in which it may stand: of a node, besides those whose `holds` names it; of a mark, "
            "these alone, `child>parent` for one child."
        ),
    ]
    beyond: Annotated[list[str], Field(description="Of a mark: parents in which it may not stand.")]


# `as` is a keyword of Python, too.
Styled = TypedDict(
    "Styled",
    {
        "property": Required[Annotated[str, Field(description="The property of CSS.")]],
        "as": Required[Annotated[str, Field(description="The neutral attribute.")]],
        "values": Required[Annotated[dict[str, Any], Field(description="The property's value → the neutral one.")]],
    },
    total=False,
)


class Divided(Shape, total=False):
    """A block whose attribute follows from the sizes of its parts."""

    attr: Required[str]
    by: Required[Annotated[str, Field(description="The neutral attribute of each part: its size.")]]
    values: Required[Annotated[dict[str, list[float]], Field(description="The attribute's value → the sizes.")]]


class ColumnWidths(Shape, total=False):
    """Elements that say the widths of a table's columns."""

    group: Required[str]
    each: Required[str]
    style: Required[Annotated[str, Field(description="The property that is the width.")]]
    unit: Required[str]
    of: Required[Annotated[str, Field(description="The neutral attribute of a cell: the widths of its columns.")]]


class StorageFormDefinition(Shape, total=False):
    """An element or macro of storage XHTML."""

    element: str
    macro: Annotated[str, Field(description="The macro's name, in the `frame` of the kind `macro`.")]
    set: Annotated[dict[str, Any], Field(description="The neutral attributes that this form means.")]
    fixed: Annotated[dict[str, str], Field(description="Attributes or parameters that tell this form from others.")]
    attrs: Attributes
    styles: Annotated[Attributes, Field(description="Declarations of its style attribute.")]
    params: Annotated[Attributes, Field(description="Parameters of the macro.")]
    fields: Annotated[Attributes, Field(description="Child elements that hold one value each.")]
    inner: Annotated[str, Field(description="A child element that names what is meant.")]
    inner_attrs: Attributes
    label: Annotated[dict[Literal["plain", "rich"], str], Field(description="Child elements with the words.")]
    body: Annotated[str, Field(description="`rich` or `plain` of a macro; `plain` or a child element otherwise.")]
    wrap: Annotated[str, Field(description="An element around all children.")]
    around: Annotated[str, Field(description="An element around it and its neighbours of the same kind.")]
    keep: Annotated[list[str], Field(description="Child elements that are kept as they are.")]
    columns: ColumnWidths
    skip: Annotated[list[str], Field(description="Elements between it and its children that say nothing.")]
    says: Annotated[str, Field(description="The neutral attribute that is its text.")]


class MacroFrame(Shape, total=False):
    """The elements that every macro of storage XHTML is made of."""

    element: Required[str]
    name: Required[Annotated[str, Field(description="The attribute with the macro's or parameter's name.")]]
    parameter: Required[Annotated[str, Field(description="The element of a parameter.")]]
    rich: Required[Annotated[str, Field(description="The element of a body of blocks.")]]
    plain: Required[Annotated[str, Field(description="The element of a body of text.")]]


class ExtensionForm(Shape, total=False):
    """What a macro is in the document format."""

    type: Required[Annotated[str, Field(description="The type of such extensions.")]]
    block: Required[Kind]
    bodied: Required[Annotated[str, Field(description="The kind of one that holds blocks.")]]
    inline: Required[Annotated[str, Field(description="The kind of one in a line.")]]
    params: Required[Annotated[str, Field(description="The key of its parameters.")]]
    meta: Required[Annotated[str, Field(description="The key of what else is said of it.")]]
    value: Required[Annotated[str, Field(description="The key of each value.")]]
    body: Required[Annotated[str, Field(description="The parameter that is its text.")]]
    about: Required[Annotated[dict[str, str], Field(description="Attribute of the macro → its key there.")]]


class DocumentFrame(Shape, total=False):
    """How a node of the document format stands in storage XHTML: the elements of its parts."""

    element: Required[str]
    node: Required[str]
    attribute: Required[str]
    parameter: Required[str]
    value: Required[Annotated[str, Field(description="Of one value of a parameter that is a list.")]]
    content: Required[str]
    kinds: Required[Annotated[list[str], Field(description="The kinds that are written so.")]]


class WikiForm(Shape, total=False):
    """A construct of wiki markup: exactly one of prefix, bullet, bar, line, mark, open, text and macro."""

    prefix: Annotated[str, Field(description="Stands at the start of the line.")]
    bullet: Annotated[str, Field(description="The sign of a list's items.")]
    bar: Annotated[str, Field(description="What a cell starts with.")]
    line: Annotated[str, Field(description="The whole line.")]
    mark: Annotated[str, Field(description="The sign on both sides of the words.")]
    open: str
    close: str
    text: Annotated[str, Field(description="The words, fields in braces.")]
    macro: str
    argument: Annotated[str, Field(description="The neutral attribute that comes first, without a name.")]
    words: Annotated[dict[str, Any], Field(description="Word given for the argument → what it means.")]
    params: Attributes
    set: dict[str, Any]
    fixed: dict[str, str]
    body: Literal["plain"]


class HtmlForm(Shape, Named, total=False):
    """A tag of HTML in Markdown, or a declaration of the `style` of any tag; `as` names the attribute it gives."""

    tag: str
    attrs: Annotated[Attributes, Field(description="Attribute of the tag → neutral attribute.")]
    set: Annotated[dict[str, Any], Field(description="The neutral attributes that the tag means.")]
    style: Annotated[str, Field(description="A property of CSS that says it on any tag.")]
    attr: Annotated[str, Field(description="An attribute that says the same on any tag.")]
    values: Annotated[dict[str, Any], Field(description="The property's value → the neutral one.")]


class LinkForm(Shape, total=False):
    """A node written as a Markdown link."""

    scheme: Required[Annotated[str, Field(description="What the link's target starts with.")]]
    attr: Required[Annotated[str, Field(description="The neutral attribute that is the rest of the target.")]]
    label: Required[Annotated[str, Field(description="The neutral attribute that is the link's text.")]]
    place: Annotated[str, Field(description="The neutral attribute that stands behind a `#` in the target.")]
    before: Annotated[str, Field(description="A sign right before the link.")]


# `from` is a keyword of Python too.
Alike = TypedDict("Alike", {"from": Required[dict[str, Any]], "to": Required[dict[str, Any]]})


class NodeDefinition(Shape, total=False):
    """One construct of rich text."""

    group: Annotated[
        Literal["root", "block", "part", "inline", "mark"],
        Field(description="part: allowed only in the kinds that consist of it, such as an item in a list."),
    ]
    like: Annotated[Kind, Field(description="What is not said here is as in this kind.")]
    empty: Annotated[str, Field(description="The child of one that would have none.")]
    items: Annotated[str, Field(description="Of a list with special items: their kind.")]
    splits: Annotated[bool, Field(description="It can end before what it must not hold, and go on after it.")]
    ends: Annotated[bool, Field(description="What follows something it must not hold leaves it too.")]
    unfit: Annotated[
        list[str],
        Field(
            description="Where the parent does not hold it, best first: a kind to turn into, "
            "or split, content, text, strong, titled, rows, link."
        ),
    ]
    row: Annotated[str, Field(description="What becomes of several linked ones alone in a paragraph, as in unfit.")]
    says: Annotated[str, Field(description="Its words as text: attributes in braces, `|` between alternatives.")]
    keeps: Annotated[bool, Field(description="It keeps its other attributes where what Markdown says of it is edited.")]
    excludes: Annotated[list[str], Field(description="Of a mark: marks that cannot stand with it.")]
    insists: Annotated[list[str], Field(description="Of a mark: kinds that become text rather than lose it.")]
    html: Annotated[
        str | list[str | HtmlForm] | HtmlForm, Field(description="The HTML tag or tags that say it in Markdown.")
    ]
    text: Annotated[
        list[str], Field(description="Words that say it in Markdown, fields in braces, {{ and }} for braces.")
    ]
    patterns: Annotated[
        dict[str, Annotated[str, pattern_key(description="What the field fits.", is_part=True)]],
        Field(description="Field → the regular expression its value fits."),
    ]
    alone: Annotated[list[str], Field(description="Words that say it in Markdown where they are a whole paragraph.")]
    known: Annotated[dict[str, str], Field(description="The values its first field may have → what they stand for.")]
    link: LinkForm
    alerts: Annotated[dict[str, dict[str, Any]], Field(description="Word of a Markdown alert → attributes.")]
    alike: Annotated[list[Alike], Field(description="Attributes that no alert says → the nearest ones.")]
    markers: Annotated[
        dict[str, dict[str, Any]], Field(description="What starts such an item in Markdown → attributes.")
    ]
    bullets: Annotated[
        dict[str, dict[str, Any]], Field(description="What replaces it in an ordinary item → attributes.")
    ]
    names: Annotated[
        dict[str, dict[str, dict[str, str]]],
        Field(description="Format \u2192 attribute \u2192 its value in Markdown \u2192 what the format calls that."),
    ]
    style: Annotated[Styled, Field(description="Of a mark on blocks: how storage XHTML says it.")]
    divided: Divided
    onto: Annotated[dict[str, str], Field(description="Its attribute → that of the node in it, in storage XHTML.")]
    frame: MacroFrame
    extension: ExtensionForm
    document: DocumentFrame
    adf: DocumentForm | list[DocumentForm]
    storage: list[StorageFormDefinition]
    wiki: list[WikiForm]


KINDS: dict[str, Any] = {"node": NodeDefinition}
