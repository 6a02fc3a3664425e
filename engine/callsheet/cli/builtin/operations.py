"""`op` and `api`: any operation of the services, found, described and called."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, Any

from ...catalog.operation_search import list_operations, search_operations, suggest_operations
from ...commands.context import Context, ParameterValues
from ...commands.execute import check_allowed, download_body, dry_run, extent_of, perform_request, request_builder
from ...errors import UsageError
from ...language.merge import on_deployment
from ...language.safety import CHANGES

if TYPE_CHECKING:
    from ...client.http.http_client import Client
    from ...client.request.http_request import Request
    from ...language.shape.rest import Body, BodyPart, CompiledOperation, OperationParam, ProductDefinition


# `api`: any request, for what no definition describes.


def send_api_request(context: Context, values: ParameterValues) -> None:
    """The answer is printed as it came: JSON in the chosen format, anything else byte for byte."""
    from ..read_line import request_of

    request = request_of(context, values, context.site())
    check_allowed(context, request)
    if dry_run(context, request):
        return
    context.output(settled=request.safety in CHANGES)
    if values.get("out") is not None:
        download_body(context, request, values["out"])
    else:
        _print_reply(context, context.client(), request)


def _print_reply(context: Context, client: Client, request: Request) -> None:
    from ...client.request.http_request import is_json_media, media_essence
    from ..read_line import TYPE

    with client.stream(request) as incoming:
        if is_json_media(media_essence(incoming.headers.get(TYPE, ""))):
            value = incoming.read_all().json()
        else:
            binary = getattr(context.streams.out, "buffer", None)
            for chunk in incoming.chunks():
                if binary is not None:
                    binary.write(chunk)
                else:
                    context.streams.out.write(chunk.decode("utf-8", "replace"))
            return
    if value is None:
        context.note(f"done: answered {incoming.status} without a body")
        return
    if context.option("output") is None:
        context.options["output"] = "json"
    context.output(settled=request.safety in CHANGES).print_one(value)


# An operation in words: what it takes, what it answers, and a command line that calls it.


PLURAL = "list of {0}"
NARROWEST = 20  # columns of explanation; where less is left, the terminal may break lines itself
FILES = {"image": "example.png"}  # where only some kinds of file are taken


def describe_operation(context: Context, id: str, operation: CompiledOperation, width: int | None = None) -> str:
    """Several paragraphs of plain text, ending with an example. Explanations are wrapped to `width`."""
    product = context.catalog.products.get(operation["product"])
    method, _, path = operation["http"].partition(" ")
    blocks = [
        [f"{id}: {operation['title']}", *_operation_warnings(operation)],
        [operation["help"]] if "help" in operation else [],
        [f"{method} {path}", f"{product['title']}" + (f", {operation['tag']}" if "tag" in operation else "")],
        _text_block(
            "Parameters", _aligned_table([_parameter_row(param) for param in operation["params"]], width=width)
        ),
        _text_block("Body", list(_body_lines(context, operation.get("body"), width))),
        _text_block("Answer", list(_answer_lines(operation))),
        _text_block("Elsewhere", list(_other_deployments(operation, product))),
        _text_block("More", [f"  {operation['documentation']}"] if "documentation" in operation else []),
        _text_block("Example", [f"  {example_line(context, id, operation)}"]),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def example_line(context: Context, id: str, operation: CompiledOperation) -> str:
    """A command line that can be pasted: every required parameter, and a body where one is needed."""
    from ...client.request.sample_values import parameter_sample

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
    from ...client.request.sample_values import parameter_sample

    for name, part in parts.items():
        if part.get("file"):
            yield from ("--file", quote(f"{name}=example.txt"))
        elif part.get("required"):
            param: OperationParam = {"name": name, "type": part.get("type", "string")}
            yield from ("--param", quote(f"{name}={parameter_sample(param)}"))


def _example_body(context: Context, body: Body) -> list[str]:
    from ...client.request.http_request import is_json_media, is_text_media
    from ...client.request.sample_values import ANYTHING, body_sample
    from ...jsontext import dump_json

    media = body.get("media", "application/json")
    if "example" in body:
        return ["-d", quote(dump_json(body["example"]))]
    if "schema" in body:
        return ["-d", quote(dump_json(body_sample(context.catalog, body["schema"], required_only=True)))]
    if is_json_media(media):
        return ["-d", quote(dump_json(ANYTHING))]
    return ["-d", "text"] if is_text_media(media) else ["--file", FILES.get(media.partition("/")[0], "example.bin")]


def _operation_warnings(operation: CompiledOperation) -> list[str]:
    found = [name for name in ("deprecated", "experimental") if operation.get(name)]
    return [f"({', '.join(found)})"] if found else []


def _text_block(title: str, lines: list[str]) -> list[str]:
    return [title, *lines] if lines else []


def _parameter_row(param: OperationParam) -> tuple[str, ...]:
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
    from ...jsontext import dump_json

    return value if isinstance(value, str) else dump_json(value)


def type_words(param: OperationParam) -> str:
    kind = param.get("type", "string")
    if kind == "array":
        return PLURAL.format(param.get("items", "string"))
    return f"{kind} ({param['format']})" if "format" in param else str(kind)


def _body_lines(context: Context, body: Body | None, width: int | None) -> Iterator[str]:
    if not body:
        return
    yield f"  {body.get('media', 'application/json')}{', optional' if body.get('optional') else ''}"
    for name, part in body.get("parts", {}).items():
        notes = ["required"] * bool(part.get("required")) + ["repeatable"] * bool(part.get("many"))
        yield f"    {name}  {'file' if part.get('file') else part.get('type', 'string')}  {', '.join(notes)}".rstrip()
        if "schema" in part:
            yield from _aligned_table(_property_rows(context, part["schema"]), 6, width)
    if "schema" in body and "parts" not in body:
        yield from _aligned_table(_property_rows(context, body["schema"]), 4, width)


def _property_rows(context: Context, schema_id: str) -> list[tuple[str, ...]]:
    schema = context.catalog.schemas.get(schema_id)
    return [_property_row(schema, name, each) for name, each in schema.get("properties", {}).items()]


def _property_row(schema: dict[str, Any], name: str, each: Any) -> tuple[str, ...]:
    each = each if isinstance(each, dict) else {}
    kind = each.get("type", each.get("ref", "any"))
    words = "|".join(kind) if isinstance(kind, list) else str(kind)
    if words == "array" and isinstance(each.get("items"), dict):
        words = PLURAL.format(each["items"].get("type", each["items"].get("ref", "any")))
    enum = f"one of: {', '.join(map(str, each['enum']))}" if "enum" in each else ""
    return name, words, "required" if name in schema.get("required", ()) else "", enum


def _answer_lines(operation: CompiledOperation) -> Iterator[str]:
    yield f"  {operation.get('reply', 'json')}"
    if paging := operation.get("paginate"):
        items = f" of `{paging['items']}`" if "items" in paging else ""
        yield f"  in pages{items} ({paging['using']}): --all fetches every one"
    if scopes := operation.get("scopes"):
        yield f"  scopes: {' '.join(scopes)}"


def _other_deployments(operation: CompiledOperation, product: ProductDefinition) -> Iterator[str]:
    for deployment in {**product.get("on", {}), **operation.get("on", {})}:
        family, here = on_deployment(product, deployment), on_deployment(operation, deployment)
        if reason := family.get("unavailable") or here.get("unavailable"):
            yield f"  {deployment}: not there: {reason}"
        elif here["http"] != operation["http"]:
            yield f"  {deployment}: {here['http']}"
        elif family.get("base") != product.get("base"):
            yield f"  {deployment}: below {family['base']}"


def _aligned_table(rows: list[tuple[str, ...]], indent: int = 2, width: int | None = None) -> list[str]:
    """Aligned columns; the last one goes on below itself where a line would be longer than `width`."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = [place for place, width in enumerate(widths) if width]
    lines = []
    for row in rows:
        start = " " * indent + "".join(f"{row[place]:<{widths[place]}}  " for place in columns[:-1])
        lines += _wrap_text(start, row[columns[-1]], width)
    return lines


def _wrap_text(start: str, text: str, width: int | None) -> list[str]:
    room = width - len(start) if width else 0
    if room < NARROWEST or len(text) <= room:
        return [f"{start}{text}".rstrip()]
    from textwrap import wrap

    first, *more = wrap(text, room, break_long_words=False)
    return [start + first, *(" " * len(start) + line for line in more)]


# `op list|search|describe|skeleton`: the catalog of operations, without asking any server.


def list_operations_command(context: Context, values: ParameterValues) -> None:
    rows = list_operations(
        context.catalog,
        product=values.get("product"),
        method=values.get("method"),
        tag=values.get("tag"),
        text=values.get("search"),
        deprecated=bool(values.get("include-deprecated") or not values.get("exclude-deprecated")),
    )
    context.output(context.catalog.views.get("operation")).print_items(_first_rows(rows, values))
    if not rows:
        context.note("no operation matches these filters")


def _first_rows(rows: list[dict[str, Any]], values: ParameterValues) -> list[dict[str, Any]]:
    return rows[: extent_of(values).most]


def search_catalog(context: Context, values: ParameterValues) -> None:
    text = " ".join(values["text"])
    found = search_operations(context.catalog, text, values.get("product"))
    for word, instead in found.corrected.items():
        context.note(f"no operation mentions {word!r}; searched for {instead!r}")
    if not found.rows:
        context.note(f"nothing found for {text!r}; see {context.program} op list")
    shown = _first_rows(found.rows, values)
    context.output(context.catalog.views.get("operation")).print_items(shown)
    if shown != found.rows:
        context.note(f"{len(found.rows) - len(shown)} more match: pass another word, or a larger --max")


def find_operation(context: Context, id: str) -> tuple[str, CompiledOperation]:
    """The canonical id and the definition; raises `UsageError` that suggests operations with similar ids."""
    found = context.catalog.operations.find(id)
    if found is None:
        near = suggest_operations(context.catalog, id)
        hint = f"did you mean {', '.join(near)}?" if near else f"{context.program} op search {id}"
        raise UsageError(f"unknown operation {id!r}", hint=hint)
    return context.catalog.canonical_id("operation", id), found


def print_description(context: Context, values: ParameterValues) -> None:
    from ...output.stream import Stream

    id, found = find_operation(context, values["id"])
    filtered = any(context.option(name) for name in ("jq", "query", "columns"))
    if context.output_format == "table" and not filtered:
        width = Stream(context.streams.out).width
        context.streams.out.write(describe_operation(context, id, found, width))
    else:
        context.output().print_one({"id": id, **found, "example": example_line(context, id, found)})


def print_skeleton(context: Context, values: ParameterValues) -> None:
    from ...client.request.sample_values import body_sample

    id, found = find_operation(context, values["id"])
    body = found.get("body")
    if body is None:
        raise UsageError(f"{id} takes no body", hint=f"{context.program} op describe {id}")
    if "parts" in body or "schema" not in body:
        form = " ".join(
            f"--file {name}=PATH" if part.get("file") else f"--param {name}=TEXT"
            for name, part in body.get("parts", {}).items()
        )
        raise UsageError(
            f"{id} takes no JSON body but {body.get('media', 'bytes')}", hint=f"give {form or '--file PATH'}"
        )
    sample = body_sample(context.catalog, body["schema"], required_only=bool(values.get("required")))
    if context.option("output") is None:
        context.options["output"] = "json"
    context.output().print_one(sample)


# `op call`: any documented operation by its id.


def call_operation(context: Context, values: ParameterValues) -> None:
    id, definition = find_operation(context, values["id"])
    strict = not values.get("no-strict")
    build = request_builder(context)
    request = build.build_request(
        id,
        parameter_arguments(values.get("param") or []),
        _body_data(context, values, build.operation_call(id).operation.get("body", {})),
        values.get("file") or (),
        strict=strict,
    )
    view = context.catalog.views.get(definition["view"]) if "view" in definition else None
    perform_request(
        context, request, build.operation_call(id), view=view, extent=extent_of(values), out=values.get("out")
    )


def _body_data(context: Context, values: ParameterValues, body: Body) -> Any:
    """The body, with single members laid over it."""
    data = context.read_source(values["data"]) if values.get("data") is not None else None
    words = values.get("set")
    if not words:
        return data
    from ...client.request.json_body import members_of_words, parse_value

    members = members_of_words(words, body, context.catalog, "--set", context.is_foreign)
    if data is None:
        return members
    from ...commands.steps.converters import overlay_values

    return overlay_values(parse_value(data.decode("utf-8", "replace"), "--data", "JSON"), members)


def parameter_arguments(given: list[str]) -> dict[str, Any]:
    """`name=value` texts by name; a name that is given several times has the list of its values."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--param expects NAME=VALUE, not {text!r}")
        if name in found:
            earlier = found[name]
            found[name] = [*earlier, value] if isinstance(earlier, list) else [earlier, value]
        else:
            found[name] = value
    return found
