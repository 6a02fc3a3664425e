"""`api`: any request, for what no definition describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...commands.context import Context
from ...commands.execute import check_allowed, download, dry_run
from ...errors import UsageError
from ...language.deployment import check_available, on_deployment
from ...language.safety import CHANGES

if TYPE_CHECKING:
    from ...client.http.client import Client
    from ...client.request.model import Body, Request
    from ...client.site_access import RequestSite

TYPE = "content-type"


def api(context: Context, values: dict[str, Any]) -> None:
    """The answer is printed as it came: JSON in the chosen format, anything else byte for byte."""
    request = request_of(context, values, context.site())
    check_allowed(context, request)
    if dry_run(context, request):
        return
    context.output(settled=request.safety in CHANGES)
    if values.get("out") is not None:
        download(context, request, values["out"])
    else:
        _print(context, context.client(), request)


def request_of(context: Context, values: Mapping[str, Any], site: RequestSite) -> Request:
    """The request that the values of the command's parameters describe."""
    from ...client.request.build import Builder

    headers = [_header(text) for text in values.get("header") or []]
    return Builder(context.catalog, site, context.program).raw(
        values["method"],
        _below(context, values["path"], values.get("product"), site.deployment),
        [_pair(text) for text in values.get("query") or []],
        [(name, text) for name, text in headers if name.lower() != TYPE],
        _body(context, values.get("data"), headers),
    )


def _below(context: Context, path: str, product: str | None, deployment: str) -> str:
    """With a product, a relative path stands below that product's base."""
    if product is None:
        return path
    definition = context.catalog.get("product", product)
    here = on_deployment(definition, deployment)
    check_available(here, product, deployment)
    base: str = here.get("base", "")
    return path if "://" in path or path.startswith(f"{base}/") else f"{base}/{path.lstrip('/')}"


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"-q expects NAME=VALUE, not {text!r}")
    return name, value


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"-H expects NAME: VALUE, not {text!r}")
    return name.strip(), value.strip()


def _body(context: Context, data: str | None, headers: list[tuple[str, str]]) -> Body | None:
    """Bytes of the given type; without a type they must be JSON."""
    if data is None:
        return None
    from ...client.request.model import Json, Raw
    from ...jsontext import JSONError, parse

    content = context.read(data)
    media = next((value for name, value in headers if name.lower() == TYPE), None)
    if media is not None:
        return Raw(content, media)
    try:
        return Json(parse(content))
    except JSONError as error:
        raise UsageError(f"the body is not JSON: {error}", hint="-H 'Content-Type: ...' sends it as it is") from None


def _print(context: Context, client: Client, request: Request) -> None:
    from ...client.request.media import essence, is_json

    with client.stream(request) as incoming:
        if is_json(essence(incoming.headers.get(TYPE, ""))):
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
