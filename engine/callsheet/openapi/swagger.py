"""A Swagger 2.0 document → the same as OpenAPI 3.0.

By https://spec.openapis.org/oas/v2.0 and https://spec.openapis.org/oas/v3.0.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..jsontext import JsonObject

_JSON = "application/json"
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_METHODS = ("delete", "get", "head", "options", "patch", "post", "put")
_MOVED = {
    "#/definitions/": "#/components/schemas/",
    "#/parameters/": "#/components/parameters/",
    "#/responses/": "#/components/responses/",
}
# Of a parameter or header, what says something of its values.
_OF_VALUES = (
    *("type", "format", "items", "enum", "default", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"),
)
_STYLES: dict[str, JsonObject] = {
    "csv": {"explode": False},
    "multi": {"style": "form", "explode": True},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
}
_FLOWS = {"application": "clientCredentials", "accessCode": "authorizationCode"}


def as_openapi_3(tree: JsonObject) -> JsonObject:
    """A tree of its own. What cannot be read is taken over as it is, so that it is told where OpenAPI is read."""
    return _Converter(tree).document()


class _Converter:
    def __init__(self, tree: JsonObject) -> None:
        self.tree = tree

    def document(self) -> JsonObject:
        tree = self.tree
        kept: JsonObject = {key: tree[key] for key in ("info", "tags", "externalDocs", "security") if key in tree}
        extensions = {key: value for key, value in tree.items() if str(key).startswith("x-")}
        paths = tree.get("paths", {})
        return {
            "openapi": "3.0.3",
            **kept,
            **extensions,
            "servers": self._servers(),
            "paths": _each(paths, self._path) if isinstance(paths, dict) else paths,
            "components": {
                "schemas": _each(_table(tree.get("definitions")), _schema),
                "securitySchemes": _each(_table(tree.get("securityDefinitions")), _security_scheme),
            },
        }

    def _servers(self) -> list[JsonObject]:
        host, base = self.tree.get("host"), str(self.tree.get("basePath") or "").rstrip("/")
        schemes = [scheme for scheme in _words(self.tree.get("schemes")) if scheme in ("http", "https")] or ["https"]
        if not host:
            return [{"url": base or "/"}]
        return [{"url": f"{scheme}://{host}{base}"} for scheme in sorted(schemes, reverse=True)]

    def _path(self, item: Any) -> Any:
        item = self._resolved(item)
        if not isinstance(item, dict):
            return item
        shared = [self._resolved(each) for each in _list(item.get("parameters"))]
        found: JsonObject = {key: value for key, value in item.items() if key not in (*_METHODS, "parameters")}
        for method in _METHODS:
            if isinstance(item.get(method), dict):
                found[method] = self._operation(item[method], shared)
        return found

    def _operation(self, operation: JsonObject, shared: list[Any]) -> JsonObject:
        own = [self._resolved(each) for each in _list(operation.get("parameters"))]
        said = {_key(each) for each in own}
        parameters = [*(each for each in shared if _key(each) not in said), *own]
        in_body = [each for each in parameters if isinstance(each, dict) and each.get("in") in ("body", "formData")]
        left_out = ("parameters", "responses", "consumes", "produces", "schemes")
        found: JsonObject = {key: value for key, value in operation.items() if key not in left_out}
        found["parameters"] = [_parameter(each) for each in parameters if each not in in_body]
        if body := self._body(in_body, self._media(operation, "consumes")):
            found["requestBody"] = body
        produces = self._media(operation, "produces") or [_JSON]
        found["responses"] = _each(_table(operation.get("responses")), lambda each: self._response(each, produces))
        return found

    def _media(self, operation: JsonObject, key: str) -> list[str]:
        return _words(operation[key] if key in operation else self.tree.get(key))

    def _body(self, parameters: list[JsonObject], consumes: list[str]) -> JsonObject | None:
        whole = next((each for each in parameters if each["in"] == "body"), None)
        if whole is not None:
            schema = _schema(whole.get("schema", {}))
            content = {media: {"schema": schema} for media in consumes or [_JSON]}
            said: JsonObject = {key: whole[key] for key in ("description", "required") if key in whole}
            return {**said, "content": content}
        if not parameters:
            return None
        has_files = any(each.get("type") == "file" for each in parameters)
        forms = [media for media in consumes if media in (_FORM, _MULTIPART)]
        media = _MULTIPART if has_files else (forms or [_FORM])[0]
        properties = {str(each.get("name")): _schema(_values(each)) for each in parameters}
        required = [str(each.get("name")) for each in parameters if each.get("required") is True]
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        encoding = {
            str(each.get("name")): {"style": "form", **_STYLES[each["collectionFormat"]]}
            for each in parameters
            if each.get("collectionFormat") in _STYLES
        }
        content = {media: {"schema": schema, **({"encoding": encoding} if encoding else {})}}
        return {"required": bool(required), "content": content}

    def _response(self, response: Any, produces: Iterable[str]) -> Any:
        response = self._resolved(response)
        if not isinstance(response, dict):
            return response
        found: JsonObject = {
            key: value for key, value in response.items() if key not in ("schema", "headers", "examples")
        }
        if "schema" in response:
            schema = _schema(response["schema"])
            found["content"] = {media: {"schema": schema} for media in produces}
        if isinstance(response.get("headers"), dict):
            found["headers"] = _each(response["headers"], _header)
        return found

    def _resolved(self, node: Any) -> Any:
        """What a reference to a shared parameter, response or path stands for; a broken one as it is."""
        seen: set[str] = set()
        while isinstance(node, dict) and isinstance(reference := node.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            found: Any = self.tree if reference.startswith("#/") else None
            for part in reference[2:].split("/"):
                found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            if found is None:
                return _schema(node)
            node = found
        return node


def _parameter(parameter: Any) -> Any:
    if not isinstance(parameter, dict):
        return parameter
    left_out = (*_OF_VALUES, "collectionFormat", "allowEmptyValue")
    found: JsonObject = {key: value for key, value in parameter.items() if key not in left_out}
    if "type" in parameter:
        found["schema"] = _schema(_values(parameter, described=False))
    if parameter.get("type") == "array":
        style = _STYLES.get(parameter.get("collectionFormat", "csv"), {})
        found |= style if parameter.get("in") == "query" else {}
    return found


def _header(header: Any) -> Any:
    return (
        {**_described(header), "schema": _schema(_values(header, described=False))}
        if isinstance(header, dict)
        else header
    )


def _values(parameter: JsonObject, *, described: bool = True) -> JsonObject:
    found = {key: parameter[key] for key in _OF_VALUES if key in parameter}
    return {**found, **(_described(parameter) if described else {})}


def _described(node: JsonObject) -> JsonObject:
    return {"description": node["description"]} if "description" in node else {}


def _schema(node: Any) -> Any:
    """With references to where things are in OpenAPI 3, files as bytes, and what is said otherwise there."""
    if isinstance(node, list):
        return [_schema(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {key: _schema(value) for key, value in node.items()}
    if isinstance(reference := found.get("$ref"), str):
        old = next((old for old in _MOVED if reference.startswith(old)), "")
        found["$ref"] = _MOVED.get(old, "") + reference[len(old) :]
    if found.get("type") == "file":
        found |= {"type": "string", "format": "binary"}
    if isinstance(name := found.get("discriminator"), str):
        found["discriminator"] = {"propertyName": name}
    if found.get("x-nullable") is True:
        found["nullable"] = True
    return found


def _security_scheme(scheme: Any) -> Any:
    if not isinstance(scheme, dict) or scheme.get("type") not in ("basic", "oauth2"):
        return scheme
    if scheme["type"] == "basic":
        return {"type": "http", "scheme": "basic", **_described(scheme)}
    flow = str(scheme.get("flow"))
    said = {key: scheme[key] for key in ("authorizationUrl", "tokenUrl") if key in scheme}
    return {
        "type": "oauth2",
        **_described(scheme),
        "flows": {_FLOWS.get(flow, flow): {**said, "scopes": _table(scheme.get("scopes"))}},
    }


def _key(parameter: Any) -> tuple[Any, Any]:
    """One of an operation stands in the place of that of its path. There is one body."""
    if not isinstance(parameter, dict):
        return None, None
    where = parameter.get("in")
    return (where, None if where == "body" else str(parameter.get("name")))


def _each(table: Mapping[Any, Any], convert: Any) -> JsonObject:
    return {key: convert(value) for key, value in table.items()}


def _table(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _words(value: Any) -> list[str]:
    return [each for each in _list(value) if isinstance(each, str)]
