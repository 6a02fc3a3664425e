"""`version`: which engine this is."""

from __future__ import annotations

from typing import Any

from .. import __version__
from ..context import Context


def version(context: Context, values: dict[str, Any]) -> None:
    wishes = any(context.option(name) for name in ("jq", "query", "columns"))
    if context.output_format == "table" and not wishes and not values.get("json"):
        context.streams.out.write(f"{context.program} {__version__}\n")
        return
    import platform

    if values.get("json"):
        context.options["output"] = "json"
    context.output().one({"program": context.program, "version": __version__, "python": platform.python_version()})
