"""The request that the words of `api` describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..commands.context import Context
from ..errors import UsageError
from ..language.deployment import check_available, on_deployment

if TYPE_CHECKING:
    from ..client.request.model import Body, Request
    from ..client.site_access import RequestSite

TYPE = "content-type"


def request_of(context: Context, values: Mapping[str, Any], site: RequestSite) -> Request:
    """The request that the values of the command's parameters describe."""
    from ..client.request.build import Builder

    method, path = _method_and_path(context, values)
    headers = [_header(text) for text in values.get("header") or []]
    return Builder(context.catalog, site, context.program).raw(
        method,
        _below(context, path, values.get("product"), site.deployment),
        [_pair(text) for text in values.get("param") or []],
        [(name, text) for name, text in headers if name.lower() != TYPE],
        _body(context, values.get("data"), headers),
    )


def _method_and_path(context: Context, values: Mapping[str, Any]) -> tuple[str, str]:
    """A path alone is read. Whatever has a body says itself what it does."""
    word, path = values["method"], values.get("path")
    if path is not None:
        return word, path
    if word is None or "/" not in word:
        raise UsageError("missing argument 'PATH'", hint=f"see {context.program} api --help")
    if values.get("data") is not None:
        raise UsageError("a request with a body needs a method", hint=f"{context.program} api POST {word} -d ...")
    return "GET", word


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
    from ..client.request.model import Json, Raw
    from ..jsontext import JSONError, parse_json

    content = context.read_source(data)
    media = next((value for name, value in headers if name.lower() == TYPE), None)
    if media is not None:
        return Raw(content, media)
    try:
        return Json(parse_json(content))
    except JSONError as error:
        raise UsageError(f"the body is not JSON: {error}", hint="-H 'Content-Type: ...' sends it as it is") from None
