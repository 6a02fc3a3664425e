"""The product and service definitions of a document whose product nobody has defined yet."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .document import Document, url_path
from .prose import first_paragraph
from .security import access_of

if TYPE_CHECKING:
    from ..jsontext import JsonObject

# The fields in which services commonly word their errors, the most telling first.
ERRORS = (
    "[errors[].[message, detail, title][], errors[?type(@) == 'string'], detail, title, message, error_description, "
    "error.message, error]"
)


def introduction_of(
    document: Document, product: str, order: int, title: str | None, base_url: str | None, notes: list[str]
) -> dict[str, JsonObject]:
    servers = document.servers()
    url = base_url or next((server for server in servers if _is_absolute(server)), None)
    info = document.table(document.tree.get("info"))
    name = title or first_paragraph(info.get("title")) or product
    service: JsonObject = {"title": name}
    if url:
        service["base_url"] = _root(url) if base_url is None else base_url.rstrip("/")
    table: JsonObject = {"title": name, "order": order, "service": product}
    if servers and (base := url_path(servers[0])):
        table["base"] = base
    table["errors"] = ERRORS
    docs = document.table(document.tree.get("externalDocs")).get("url")
    if isinstance(docs, str) and _is_absolute(docs):
        table["docs"] = docs.replace("{", "{{").replace("}", "}}")
    access = access_of(document, product, url or "", notes)
    if access:
        service["auth"] = list(access)
    made = {"service": {product: service}, "product": {product: table}}
    return {**made, "auth": access} if access else made


def _is_absolute(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _root(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
