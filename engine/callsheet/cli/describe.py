"""An operation in words: what it takes, what it answers, and a command line that calls it."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..language.merge import on_deployment

if TYPE_CHECKING:
    from ..commands.context import Context
    from ..language.shape.rest import Body, BodyPart, CompiledOperation, OperationParam, ProductDefinition

PLURAL = "list of {0}"
NARROWEST = 20  # columns of explanation; where less is left, the terminal may break lines itself
FILES = {"image": "example.png"}  # where only some kinds of file are taken


def describe(context: Context, id: str, operation: CompiledOperation, width: int | None = None) -> str:
    """Several paragraphs of plain text, ending with an example. Explanations are wrapped to `width`."""
    product = context.catalog.get("product", operation["product"])
    method, _, path = operation["http"].partition(" ")
    blocks = [
        [f"{id}: {operation['title']}", *_warnings(operation)],
        [operation["help"]] if "help" in operation else [],
        [f"{method} {path}", f"{product['title']}" + (f", {operation['tag']}" if "tag" in operation else "")],
        _block("Parameters", _table([_parameter(param) for param in operation["params"]], width=width)),
        _block("Body", list(_body(context, operation.get("body"), width))),
        _block("Answer", list(_answer(operation))),
        _block("Elsewhere", list(_other_deployments(context, operation, product))),
        _block("More", [f"  {operation['documentation']}"] if "documentation" in operation else []),
        _block("Example", [f"  {example(context, id, operation)}"]),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def facts(context: Context, id: str, operation: CompiledOperation) -> dict[str, Any]:
    """The same for programs: the definition with its id, its vendor's page and the example."""
    return {"id": id, **operation, "example": example(context, id, operation)}


def example(context: Context, id: str, operation: CompiledOperation) -> str:
    """A command line that can be pasted: every required parameter, and a body where one is needed."""
    from ..client.request.sample import parameter_sample

    words = [context.program, "op", "call", id]
    for param in operation["params"]:
        if param.get("required"):
            words += ["--param", quote(f"{param['name']}={parameter_sample(param)}")]
    body = operation.get("body", {})
    if "parts" in body:
        words += _example_parts(body["parts"])
    elif "example" in body or (body and not body.get("optional")):
        words += _example_body(context, body)
    if operation.get("reply") == "binary":
        words += ["--out", "answer.bin"]
    return " ".join(words)


def _example_parts(parts: dict[str, BodyPart]) -> Iterator[str]:
    from ..client.request.sample import parameter_sample

    for name, part in parts.items():
        if part.get("file"):
            yield from ("--file", quote(f"{name}=example.txt"))
        elif part.get("required"):
            param: OperationParam = {"name": name, "type": part.get("type", "string")}
            yield from ("--param", quote(f"{name}={parameter_sample(param)}"))


def _example_body(context: Context, body: Body) -> list[str]:
    from ..client.request.model import is_json, is_text
    from ..client.request.sample import ANYTHING, body_sample
    from ..jsontext import dump_json

    media = body.get("media", "application/json")
    if "example" in body:
        return ["-d", quote(dump_json(body["example"]))]
    if "schema" in body:
        return ["-d", quote(dump_json(body_sample(context.catalog, body["schema"], required_only=True)))]
    if is_json(media):
        return ["-d", quote(dump_json(ANYTHING))]
    return ["-d", "text"] if is_text(media) else ["--file", FILES.get(media.partition("/")[0], "example.bin")]


def _warnings(operation: CompiledOperation) -> list[str]:
    found = [name for name in ("deprecated", "experimental") if operation.get(name)]
    return [f"({', '.join(found)})"] if found else []


def _block(title: str, lines: list[str]) -> list[str]:
    return [title, *lines] if lines else []


def _parameter(param: OperationParam) -> tuple[str, ...]:
    notes = [param.get("help", "")]
    if "enum" in param:
        notes.append(f"one of: {', '.join(map(_as_typed, param['enum']))}")
    if "default" in param:
        notes.append(f"default: {_as_typed(param['default'])}")
    notes += [f"{name}: {param[name]:g}" for name in ("minimum", "maximum") if name in param]
    notes += ["deprecated"] if param.get("deprecated") else []
    required = "required" if param.get("required") else ""
    return param["name"], param.get("in", "query"), type_words(param), required, "; ".join(filter(None, notes))


def _as_typed(value: Any) -> str:
    """As it is typed: `true`, not `True`."""
    from ..jsontext import dump_json

    return value if isinstance(value, str) else dump_json(value)


def type_words(param: OperationParam) -> str:
    kind = param.get("type", "string")
    if kind == "array":
        return PLURAL.format(param.get("items", "string"))
    return f"{kind} ({param['format']})" if "format" in param else str(kind)


def _body(context: Context, body: Body | None, width: int | None) -> Iterator[str]:
    if not body:
        return
    yield f"  {body.get('media', 'application/json')}{', optional' if body.get('optional') else ''}"
    for name, part in body.get("parts", {}).items():
        notes = ["required"] * bool(part.get("required")) + ["repeatable"] * bool(part.get("many"))
        yield f"    {name}  {'file' if part.get('file') else part.get('type', 'string')}  {', '.join(notes)}".rstrip()
    if "schema" in body and "parts" not in body:
        schema = context.catalog.get("schema", body["schema"])
        rows = [_property(schema, name, each) for name, each in schema.get("properties", {}).items()]
        yield from _table(rows, 4, width)


def _property(schema: dict[str, Any], name: str, each: Any) -> tuple[str, ...]:
    each = each if isinstance(each, dict) else {}
    kind = each.get("type", each.get("ref", "any"))
    words = "|".join(kind) if isinstance(kind, list) else str(kind)
    if words == "array" and isinstance(each.get("items"), dict):
        words = PLURAL.format(each["items"].get("type", each["items"].get("ref", "any")))
    enum = f"one of: {', '.join(map(str, each['enum']))}" if "enum" in each else ""
    return name, words, "required" if name in schema.get("required", ()) else "", enum


def _answer(operation: CompiledOperation) -> Iterator[str]:
    yield f"  {operation.get('reply', 'json')}"
    if paging := operation.get("paginate"):
        items = f" of `{paging['items']}`" if "items" in paging else ""
        yield f"  in pages{items} ({paging['using']}): --all fetches every one"
    if scopes := operation.get("scopes"):
        yield f"  scopes: {' '.join(scopes)}"


def _other_deployments(context: Context, operation: CompiledOperation, product: ProductDefinition) -> Iterator[str]:
    del context
    for deployment in {**product.get("on", {}), **operation.get("on", {})}:
        family, here = on_deployment(product, deployment), on_deployment(operation, deployment)
        if reason := family.get("unavailable") or here.get("unavailable"):
            yield f"  {deployment}: not there: {reason}"
        elif here["http"] != operation["http"]:
            yield f"  {deployment}: {here['http']}"
        elif family.get("base") != product.get("base"):
            yield f"  {deployment}: below {family['base']}"


def _table(rows: list[tuple[str, ...]], indent: int = 2, width: int | None = None) -> list[str]:
    """Aligned columns; the last one goes on below itself where a line would be longer than `width`."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = [place for place, width in enumerate(widths) if width]
    lines = []
    for row in rows:
        start = " " * indent + "".join(f"{row[place]:<{widths[place]}}  " for place in columns[:-1])
        lines += _wrapped(start, row[columns[-1]], width)
    return lines


def _wrapped(start: str, text: str, width: int | None) -> list[str]:
    room = width - len(start) if width else 0
    if room < NARROWEST or len(text) <= room:
        return [f"{start}{text}".rstrip()]
    from textwrap import wrap

    first, *more = wrap(text, room, break_long_words=False)
    return [start + first, *(" " * len(start) + line for line in more)]
