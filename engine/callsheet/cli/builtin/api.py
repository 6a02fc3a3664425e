"""`api`: any request, for what no definition describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...commands.context import Context, ParameterValues
from ...commands.execute import check_allowed, download_body, dry_run
from ...language.safety import CHANGES
from ..read_line import TYPE, request_of

if TYPE_CHECKING:
    from ...client.http.client import Client
    from ...client.request.model import Request


def api(context: Context, values: ParameterValues) -> None:
    """The answer is printed as it came: JSON in the chosen format, anything else byte for byte."""
    request = request_of(context, values, context.site())
    check_allowed(context, request)
    if dry_run(context, request):
        return
    context.output(settled=request.safety in CHANGES)
    if values.get("out") is not None:
        download_body(context, request, values["out"])
    else:
        _print(context, context.client(), request)


def _print(context: Context, client: Client, request: Request) -> None:
    from ...client.request.model import is_json, media_essence

    with client.stream(request) as incoming:
        if is_json(media_essence(incoming.headers.get(TYPE, ""))):
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
    context.output(settled=request.safety in CHANGES).one(value)
