"""`op list|search|describe|skeleton`: the catalog of operations, without asking any server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...catalog.search import list_operations, search_operations, suggestions
from ...commands.context import Context, ParameterValues
from ...commands.execute import extent_of
from ...errors import UsageError

if TYPE_CHECKING:
    from ...language.shape.rest import CompiledOperation


def list_operations_command(context: Context, values: ParameterValues) -> None:
    rows = list_operations(
        context.catalog,
        product=values.get("product"),
        method=values.get("method"),
        tag=values.get("tag"),
        text=values.get("search"),
        deprecated=bool(values.get("include-deprecated") or not values.get("exclude-deprecated")),
    )
    context.output(context.catalog.get("view", "operation")).items(_first(rows, values))
    if not rows:
        context.note("no operation matches these filters")


def _first(rows: list[dict[str, Any]], values: ParameterValues) -> list[dict[str, Any]]:
    return rows[: extent_of(values).most]


def search(context: Context, values: ParameterValues) -> None:
    text = " ".join(values["text"])
    found = search_operations(context.catalog, text, values.get("product"))
    for word, instead in found.corrected.items():
        context.note(f"no operation mentions {word!r}; searched for {instead!r}")
    if not found.rows:
        context.note(f"nothing found for {text!r}; see {context.program} op list")
    shown = _first(found.rows, values)
    context.output(context.catalog.get("view", "operation")).items(shown)
    if shown != found.rows:
        context.note(f"{len(found.rows) - len(shown)} more match: pass another word, or a larger --max")


def operation(context: Context, id: str) -> tuple[str, CompiledOperation]:
    """The canonical id and the definition; raises `UsageError` that suggests operations with similar ids."""
    found = context.catalog.find("operation", id)
    if found is None:
        near = suggestions(context.catalog, id)
        hint = f"did you mean {', '.join(near)}?" if near else f"{context.program} op search {id}"
        raise UsageError(f"unknown operation {id!r}", hint=hint)
    return context.catalog.canonical("operation", id), found


def describe(context: Context, values: ParameterValues) -> None:
    from ...output.stream import Stream
    from ..describe import describe as describe_operation
    from ..describe import facts

    id, found = operation(context, values["id"])
    filtered = any(context.option(name) for name in ("jq", "query", "columns"))
    if context.output_format == "table" and not filtered:
        width = Stream(context.streams.out).width
        context.streams.out.write(describe_operation(context, id, found, width))
    else:
        context.output().one(facts(context, id, found))


def skeleton(context: Context, values: ParameterValues) -> None:
    from ...client.request.sample import body_sample

    id, found = operation(context, values["id"])
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
    context.output().one(sample)
