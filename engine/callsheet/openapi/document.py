"""An OpenAPI 3 document, or one of Swagger 2.0: its operations and servers, references resolved on demand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import DefinitionError
from ..urls import base_url_problem
from .bundle import with_files_beside
from .swagger import as_openapi_3
from .syntax import parse_document

if TYPE_CHECKING:
    from ..jsontext import JsonObject

_CONVERTERS = {
    "a Google Discovery document": "convert it first, for example with google-discovery-to-swagger",
    "a Postman collection": "convert it first, for example with postman-to-openapi, or export it as OpenAPI",
}

METHODS = ("delete", "get", "head", "options", "patch", "post", "put")


class HttpOperation(NamedTuple):
    """One operation of a document, as it stands there; `path` begins with the server's path."""

    path: str
    method: str
    operation: JsonObject
    item: JsonObject


class Document:
    """A parsed document; `name` is how messages call it. Raises `DefinitionError` when it is no OpenAPI 3."""

    def __init__(self, name: str, tree: Any) -> None:
        self.name = name
        self.tree = _checked(name, tree)

    def resolve(self, node: Any) -> Any:
        """What stands at the end of a chain of references; anything else is returned as it is."""
        seen: list[str] = []
        while isinstance(node, dict) and isinstance(node.get("$ref"), str):
            reference = node["$ref"]
            if reference in seen:
                raise DefinitionError(f"{self.name}: {reference} refers to itself")
            seen.append(reference)
            node = self.at(reference)
        return node

    def at(self, reference: str) -> Any:
        """What a local reference points to."""
        if not reference.startswith("#"):
            raise DefinitionError(
                f"{self.name}: {reference!r} is in another file", hint="bundle the document into one file first"
            )
        node: Any = self.tree
        for part in pointer(reference):
            found = _step(node, part)
            if found is None:
                raise DefinitionError(f"{self.name}: {reference!r} cannot be resolved: no {part!r}")
            node = found
        return node

    def table(self, node: Any) -> JsonObject:
        """A resolved mapping; anything else counts as empty."""
        found = self.resolve(node)
        return found if isinstance(found, dict) else {}

    def servers(self) -> list[str]:
        return [url for server in self.tree.get("servers") or () if (url := server_url(server))]

    def calls(self, left_out: list[tuple[str, str]]) -> Iterator[HttpOperation]:
        """Every operation, by path and then method; `left_out` gets the paths that cannot be read, and why."""
        for path, node in sorted(self.tree["paths"].items(), key=lambda pair: str(pair[0])):
            if not str(path).startswith("/"):
                continue
            try:
                item = self.table(node)
                bare, query = _split(path)
                if query:
                    item = {**item, "parameters": [*query, *(item.get("parameters") or ())]}
                for method in METHODS:
                    operation = item.get(method)
                    if isinstance(operation, dict):
                        yield HttpOperation(self._base(item, operation) + bare, method.upper(), operation, item)
            except (DefinitionError, AttributeError, TypeError, ValueError) as error:
                left_out.append((str(path), str(error).removeprefix(f"{self.name}: ")))

    def own_server(self, call: HttpOperation) -> str:
        """Scheme and host of an operation that has a server of its own on another host; empty for any other."""
        first = next((urlsplit(each) for each in self.servers() if urlsplit(each).netloc), urlsplit(""))
        own = urlsplit(first_server(call.operation) or first_server(call.item))
        server = f"{own.scheme}://{own.netloc}"
        is_other = first.netloc and own.netloc and own.netloc != first.netloc
        return server if is_other and base_url_problem(server) is None else ""

    def _base(self, item: JsonObject, operation: JsonObject) -> str:
        return url_path(next(filter(None, map(first_server, (operation, item, self.tree))), ""))


def _split(path: str) -> tuple[str, list[JsonObject]]:
    """A path as it is sent, and its query as parameters with one value each; what is behind a # is never sent."""
    bare, _, query = path.partition("#")[0].partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    fixed = [
        {"name": name, "in": "query", "required": True, "schema": {"type": "string", "enum": [value]}}
        for name, value in pairs
        if "{" not in value
    ]
    return re.sub(r"\{([^{}]+?)[+*]\}", r"{\1}", bare), fixed


def pointer(reference: str) -> list[str]:
    """The decoded parts of `#/components/schemas/Pet`."""
    parts = reference[1:].strip("/").split("/")
    return [unquote(part).replace("~1", "/").replace("~0", "~") for part in parts if part]


def _step(node: Any, part: str) -> Any:
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and part.isdigit() and int(part) < len(node):
        return node[int(part)]
    return None


def server_url(server: Any) -> str:
    """The URL of a server entry, its variables replaced by their defaults."""
    if not isinstance(server, Mapping):
        return ""
    variables = server.get("variables") or {}
    return re.sub(
        r"\{([^}]+)\}",
        lambda found: str((variables.get(found[1]) or {}).get("default", "")),
        str(server.get("url") or ""),
    )


def first_server(node: JsonObject) -> str:
    servers = node.get("servers")
    return server_url(servers[0]) if isinstance(servers, list) and servers else ""


def url_path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def read_document(text: str, name: str, path: str | None = None) -> Document:
    """Parse JSON or YAML. `path` is where it is, if files beside it may belong to it.

    Raises `DefinitionError` with the line of a syntax error.
    """
    tree = parse_document(text, name)
    return Document(name, tree if path is None else with_files_beside(tree, name, path))


def _of_another_kind(name: str, tree: JsonObject, version: str) -> DefinitionError:
    """Named as what it is, with the way to convert it."""
    info = tree.get("info")
    kinds = {
        f"Swagger {tree.get('swagger') or tree.get('swaggerVersion')}": "swagger" in tree or "swaggerVersion" in tree,
        "a Google Discovery document": str(tree.get("kind", "")).startswith("discovery#"),
        "a Postman collection": "getpostman.com" in str(isinstance(info, dict) and info.get("schema")),
        "an AsyncAPI document": "asyncapi" in tree,
        "the schema of a GraphQL service": "__schema" in (tree.get("data") or tree),
    }
    kind = next((kind for kind, holds in kinds.items() if holds), None)
    if kind is not None:
        hint = _CONVERTERS.get(kind, "ask its publisher for an OpenAPI 3 document")
        return DefinitionError(f"{name}: this is {kind}, expected OpenAPI 3 or Swagger 2.0", hint=hint)
    found = f"openapi is {version!r}" if version else "no 'openapi' key"
    return DefinitionError(f"{name}: not an OpenAPI 3 document: {found}")


def _checked(name: str, tree: Any) -> JsonObject:
    if not isinstance(tree, dict):
        raise DefinitionError(f"{name}: not an OpenAPI document: expected a table at the top")
    if str(tree.get("swagger", "")).startswith("2"):
        tree = as_openapi_3(tree)
    checked: JsonObject = tree
    version = str(tree.get("openapi", ""))
    if not version.startswith("3."):
        raise _of_another_kind(name, tree, version)
    if not isinstance(tree.setdefault("paths", {}), dict):
        raise DefinitionError(f"{name}: paths: expected a table")
    return checked
