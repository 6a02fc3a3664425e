"""`op call`: any documented operation by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...client.request.schema import members_of_words, parse_value
from ...commands.context import Context, ParameterValues
from ...commands.execute import extent_of, perform_request, request_builder
from ...commands.steps.overlay import overlay_values
from ...errors import UsageError
from .op import operation

if TYPE_CHECKING:
    from ...language.shape.rest import Body


def call(context: Context, values: ParameterValues) -> None:
    id, definition = operation(context, values["id"])
    strict = not values.get("no-strict")
    build = request_builder(context)
    request = build.build(
        id,
        arguments(values.get("param") or []),
        _data(context, values, build.call(id).operation.get("body", {})),
        values.get("file") or (),
        strict=strict,
    )
    view = context.catalog.get("view", definition["view"]) if "view" in definition else None
    perform_request(context, request, build.call(id), view=view, extent=extent_of(values), out=values.get("out"))


def _data(context: Context, values: ParameterValues, body: Body) -> Any:
    """The body, with single members laid over it."""
    data = context.read_source(values["data"]) if values.get("data") is not None else None
    words = values.get("set")
    if not words:
        return data
    members = members_of_words(words, body, context.catalog, "--set", context.is_foreign)
    return (
        members
        if data is None
        else overlay_values(parse_value(data.decode("utf-8", "replace"), "--data", "JSON"), members)
    )


def arguments(given: list[str], option: str = "--param") -> dict[str, Any]:
    """`name=value` texts by name; a name that is given several times has the list of its values."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} expects NAME=VALUE, not {text!r}")
        if name in found:
            earlier = found[name]
            found[name] = [*earlier, value] if isinstance(earlier, list) else [earlier, value]
        else:
            found[name] = value
    return found
