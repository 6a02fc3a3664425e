"""`version`: which engine this is."""

from __future__ import annotations

from typing import Any

from .. import __version__
from ..context import Context


def version(context: Context, values: dict[str, Any]) -> None:
    if values.get("json") or context.output_format == "json":
        import platform

        from ..jsontext import dump

        facts = {"program": context.program, "version": __version__, "python": platform.python_version()}
        context.streams.out.write(dump(facts, indent=2) + "\n")
    else:
        context.streams.out.write(f"{context.program} {__version__}\n")
