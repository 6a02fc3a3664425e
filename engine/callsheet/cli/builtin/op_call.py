"""`op call`: any documented operation by its id."""

from __future__ import annotations

from typing import Any

from ...commands.context import Context, ParameterValues
from ...commands.execute import builder, extent_of, perform
from ...errors import UsageError
from .op import operation


def call(context: Context, values: ParameterValues) -> None:
    id, definition = operation(context, values["id"])
    strict = not values.get("no-strict")
    data = values.get("data")
    build = builder(context)
    request = build.build(
        id,
        arguments(values.get("param") or []),
        context.read(data) if data is not None else None,
        values.get("file") or (),
        strict=strict,
    )
    view = context.catalog.get("view", definition["view"]) if "view" in definition else None
    perform(context, request, build.call(id), view=view, extent=extent_of(values), out=values.get("out"))


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
