"""Rich text between Markdown, the document format, storage XHTML and wiki markup, as `node` definitions say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from ..collector import without_collector
from ..errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from .markdown.addresses import Beside
    from .node_rules import Definitions, Rules
    from .tree import Losses, Node


class Options(TypedDict, total=False):
    """How Markdown is read; see `convert`."""

    soft_break: Literal["space", "break"]
    cards: bool
    literal: bool
    beside: Beside | None


class Wanted(NamedTuple):
    """What a text is read for."""

    format: str
    lossless: bool
    options: Options


class Converted(NamedTuple):
    """The result (a JSON value for the document format, text otherwise) and what it could not say."""

    value: Any
    losses: list[str]


def convert_rich_text(
    source: Any,
    from_format: str,
    to_format: str,
    *,
    nodes: Definitions,
    lossless: bool = False,
    options: Options | None = None,
) -> Converted:
    """`source` in another format; `nodes` are the definitions of kind `node`.

    A document may be given as JSON text or as its value. `lossless` carries what Markdown cannot say in comments that
    reading it restores. Options: `soft_break` ("space", or "break" for a line break), `cards` (true: bare addresses
    become cards), `literal` (true: the text is not a person's own; only formatting is read in Markdown, no mention, no
    macro, nothing that was carried along), `beside` (what is beside the file that the text comes from, see
    `markdown.relative.Beside`). Raises UsageError with line and column for text that is not well-formed.
    """
    from .tree import Losses

    read, write = _reader(from_format), _writer(to_format)
    options = options or {}
    rules, losses = _rules(nodes, literal=options.get("literal", False)), Losses()
    with without_collector():
        tree = read(source, rules, losses, Wanted(to_format, lossless, options))
        if (from_format, to_format) == ("storage", "adf"):
            tree = _for_documents(tree, rules, losses)
        result = write(tree, rules, losses, from_format if lossless else None)
        del tree  # so that the collector need not look through it
    return Converted(result, losses.notes())


def _for_documents(tree: Node, rules: Rules, losses: Losses) -> Node:
    from .storage.document_tree import for_documents

    return for_documents(tree, rules, losses)


_last: tuple[Definitions, Rules] | None = None


def _rules(nodes: Definitions, *, literal: bool = False) -> Rules:
    """The definitions made ready; those of the last call again where they are the same."""
    global _last  # noqa: PLW0603 -- one entry is all that a batch needs
    if literal or _last is None or _last[0] is not nodes:
        from .node_rules import Rules

        if literal:
            return Rules(nodes, literal=True)
        _last = (nodes, Rules(nodes))
    return _last[1]


# --- formats: what is imported when one is used first ---


def _markdown_reader() -> Reader:
    from .lossless_markers import refuse_references
    from .markdown.block_reader import read_markdown
    from .tree import walk_nodes

    def read(source: str, rules: Rules, losses: Losses, wanted: Wanted) -> Node:
        options, target = wanted.options, wanted.format
        beside = options.get("beside")
        tree = read_markdown(
            source,
            rules,
            losses,
            soft_break=options.get("soft_break", "space"),
            cards=options.get("cards", False),
            target=target,
            own=target in ATTACHING and beside is None,
            beside=beside,
        )
        refuse_references(source, tree.content)
        kinds = {kind: formats[target] for kind, formats in rules.names.items() if target in formats}
        for node in [found for found in walk_nodes(tree) if found.kind in kinds] if kinds else ():
            _rename(node, kinds[node.kind], target, losses)
        return tree

    return read


def _rename(node: Node, names_of: dict[str, dict[str, str]], format: str, losses: Losses) -> None:
    """Puts what people call things in Markdown, such as languages of code, into the words of a format.

    `*` among the words is for all that the format does not know.
    """
    for attr, names in names_of.items():
        value = node.attrs.get(attr)
        if isinstance(value, str):
            known = value.lower() in names or value in names.values() or "*" not in names
            node.attrs[attr] = names.get(value.lower(), value) if known else names["*"]
            if not known:
                losses.note(f"{attr} {value!r} is not known in {format}: it became {names['*']!r}")


def _adf_reader() -> Reader:
    from .adf.reader import read_adf

    def read(source: Any, rules: Rules, losses: Losses, wanted: Wanted) -> Node:
        document = _json(source) if isinstance(source, str | bytes) else source
        return read_adf(document, rules, losses, spelling=wanted.lossless or wanted.format != "markdown")

    return read


def _json(source: str | bytes) -> Any:
    from ..jsontext import parse_json

    try:
        return parse_json(source)
    except RecursionError:
        raise UsageError("not a rich-text document: nested too deeply") from None
    except ValueError as error:
        line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
        place = f"{line}:{column}: " if line else ""
        raise UsageError(f"not JSON: {place}{getattr(error, 'msg', error)}") from None


def _storage_reader() -> Reader:
    from .storage.reader import read_storage

    return lambda source, rules, losses, _wanted: read_storage(source, rules, losses)


def _wiki_reader() -> Reader:
    from .wiki.reader import read_wiki

    return lambda source, rules, losses, _wanted: read_wiki(source, rules, losses)


def _markdown_writer() -> Writer:
    from .markdown.block_writer import write_markdown

    return write_markdown


def _adf_writer() -> Writer:
    from .adf.writer import DocumentWriter
    from .fit_to_document import fit_to_rules

    def write(tree: Node, rules: Rules, losses: Losses, _lossless_from: str | None) -> Any:
        fitted = fit_to_rules(tree, rules, losses)
        tree.content = []  # so that its nodes go as they are written
        return DocumentWriter(rules, consume=True).write_document(fitted)

    return write


def _storage_writer() -> Writer:
    from .storage.writer import write_storage

    return lambda tree, rules, losses, _lossless_from: write_storage(tree, rules, losses)


def _wiki_writer() -> Writer:
    from .wiki.writer import write_wiki

    return lambda tree, rules, losses, _lossless_from: write_wiki(tree, rules, losses)


if TYPE_CHECKING:
    Reader = Callable[[Any, Rules, Losses, Wanted], Node]
    Writer = Callable[[Node, Rules, Losses, str | None], Any]

ATTACHING = frozenset({"storage", "wiki"})  # an image there may be a file of the page or issue
READERS: dict[str, Callable[[], Reader]] = {
    "markdown": _markdown_reader,
    "adf": _adf_reader,
    "storage": _storage_reader,
    "wiki": _wiki_reader,
}
WRITERS: dict[str, Callable[[], Writer]] = {
    "markdown": _markdown_writer,
    "adf": _adf_writer,
    "storage": _storage_writer,
    "wiki": _wiki_writer,
}


@cache
def _reader(name: str) -> Reader:
    if name not in READERS:
        raise UsageError(f"no rich-text format {name!r}{did_you_mean(name, READERS)}")
    return READERS[name]()


@cache
def _writer(name: str) -> Writer:
    if name not in WRITERS:
        raise UsageError(f"no rich-text format {name!r}{did_you_mean(name, WRITERS)}")
    return WRITERS[name]()
