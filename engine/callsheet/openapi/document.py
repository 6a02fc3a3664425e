"""An OpenAPI document of any version, in one file or several: its operations, references resolved."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import DefinitionError
from ..language.http_methods import METHODS
from ..urls import base_url_problem

if TYPE_CHECKING:
    from ..jsontext import JsonObject


# JSON or YAML text → plain values.


# What is no text in YAML 1.2's core schema, as OpenAPI asks. PyYAML reads 1.1, where `on`, dates and 12:30 are not.
_PLAIN = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("merge", r"^<<$", "<"),
)

# How a text can hold what definitions cannot: halves of surrogate pairs, and numbers beyond all bounds.
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_UNSAYABLE = re.compile(r"\\u[dD][89a-fA-F]|\.(?:nan|inf)|\d[eE]\+?\d{3}", re.IGNORECASE)
_HALVES = re.compile("[\ud800-\udfff]")


def parse_document(text: str, name: str) -> Any:
    """Raises `DefinitionError` with the line of a syntax error; `name` is how the message calls the text."""
    if text.lstrip()[:1] in ("{", "["):
        value, doubtful = _parse_json_document(text, name), _ESCAPED_HALF
    else:
        value, doubtful = _parse_yaml_document(text, name), _UNSAYABLE
    return _sayable_value(value, name) if doubtful.search(text) else value


def _sayable_value(value: Any, name: str) -> Any:
    """What definitions can say too: a half of a surrogate pair is replaced, a number without an end refused."""
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_sayable_value(key, name): _sayable_value(inner, name) for key, inner in value.items()}
    if isinstance(value, list):
        return [_sayable_value(inner, name) for inner in value]
    return _finite_number(value, name) if isinstance(value, float) else value


def _finite_number(value: float, name: str) -> float:
    if not isfinite(value):
        raise DefinitionError(f"{name}: {value} is a number that definitions cannot hold")
    return value


def _parse_json_document(text: str, name: str) -> Any:
    def number(written: str) -> float:
        return _finite_number(float(written), name)

    try:
        return json.loads(text, parse_float=number, parse_constant=number)
    except json.JSONDecodeError as error:
        problem = "cut off" if error.pos >= len(text.rstrip()) else error.msg
        raise DefinitionError(f"{name}:{error.lineno}: not JSON: {problem} (column {error.colno})") from None
    except RecursionError:
        raise DefinitionError(f"{name}: nested too deeply") from None


def _parse_yaml_document(text: str, name: str) -> Any:
    import yaml

    try:
        return _yaml_loader()(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise DefinitionError(f"{name}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DefinitionError(f"{name}: not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise DefinitionError(f"{name}: nested too deeply") from None


def _yaml_loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: JsonObject = {}  # noqa: RUF012  PyYAML keeps them in the class

    for kind, pattern, first in _PLAIN:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(pattern), list(first))
    return Loader


# A document of several files → one, with what other files hold under a key of its own.
#
# Only files of the document's directory and below are read: whoever wrote a document does not choose what else is.
# An address is never asked; it stays as it is, and is told where it is needed.


FILES = "x-files"  # what stands in other files, by the name of each
_MOST_FILES = 5_000
_MOST_BYTES = 64 << 20
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
# A key, and no path that ends so, such as Microsoft's /groups/{id}/$ref: those need no second look at the document.
# What must stand before it is asked for behind it: a pattern that begins with a text is searched thirty times as fast.
_OTHER_FILE = re.compile(r"""\$ref(?<![^\s"'{\[,]\$ref)["']?\s*:\s*+(?!["']?#)""")
_DATA = ("example", "examples", "default", "enum", "const")  # what looks like a reference there is none


def with_files_beside(tree: Any, name: str, path: str) -> Any:
    """`path` is where the document is. Raises `DefinitionError` for a file that cannot be read or is elsewhere."""
    return _Bundle(name, path).whole_document(tree) if isinstance(tree, dict) else tree


class _Bundle:
    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.root, self.main = os.path.split(os.path.realpath(path))
        self.names: dict[str, str] = {}  # path below the root → where its content goes
        self.files: JsonObject = {}
        self.size = 0

    def whole_document(self, tree: JsonObject) -> JsonObject:
        found: JsonObject = self._with_references(tree, self.main)
        return {**found, FILES: self.files} if self.files else found

    def _with_references(self, node: Any, of_file: str) -> Any:
        """With references to where their targets are in the one document."""
        if isinstance(node, list):
            return [self._with_references(each, of_file) for each in node]
        if not isinstance(node, dict):
            return node
        found = {key: value if key in _DATA else self._with_references(value, of_file) for key, value in node.items()}
        if isinstance(reference := node.get("$ref"), str):
            found["$ref"] = self._reference_in_bundle(reference, of_file)
        return found

    def _reference_in_bundle(self, reference: str, of_file: str) -> str:
        file, _, fragment = reference.partition("#")
        if _ADDRESS.match(reference) or (not file and of_file == self.main):
            return reference
        path = posixpath.normpath(posixpath.join(posixpath.dirname(of_file), unquote(file))) if file else of_file
        place = "" if path == self.main else f"/{FILES}/{self._place_of_file(path, reference)}"
        return f"#{place}{fragment.rstrip('/') if fragment.startswith('/') else ''}"

    def _place_of_file(self, path: str, reference: str) -> str:
        """The key under which a file is; it is read where it is named first."""
        if path not in self.names:
            if len(self.names) >= _MOST_FILES:
                raise DefinitionError(f"{self.name}: more than {_MOST_FILES} files belong to it")
            text = self._text_of_file(path, reference)
            stem = re.sub(r"[^\w.-]+", "-", posixpath.splitext(posixpath.basename(path))[0]) or "file"
            taken = set(self.names.values())
            others = (f"{stem}-{number}" for number in range(2, _MOST_FILES + 2))
            self.names[path] = stem if stem not in taken else next(each for each in others if each not in taken)
            self.files[self.names[path]] = self._with_references(parse_document(text, path), path)
        return self.names[path]

    def _text_of_file(self, path: str, reference: str) -> str:
        there = os.path.realpath(os.path.join(self.root, *path.split("/")))
        if posixpath.isabs(path) or not there.startswith(os.path.join(self.root, "")):
            raise DefinitionError(
                f"{self.name}: {reference!r} is outside of the document's directory",
                hint="bundle the document into one file first, for example with `redocly bundle`",
            )
        if not os.path.isfile(there):  # opening anything else could wait for ever
            raise DefinitionError(f"{self.name}: {reference!r}: there is no such file")
        try:
            with open(there, "rb") as file:
                raw = file.read(_MOST_BYTES - self.size + 1)
            self.size += len(raw)
            if self.size > _MOST_BYTES:
                raise DefinitionError(f"{self.name}: its files have more than {_MOST_BYTES >> 20} MiB")
            return raw.decode("utf-8-sig")
        except OSError as error:
            raise DefinitionError(f"{self.name}: {reference!r}: {(error.strerror or str(error)).lower()}") from None
        except ValueError:
            raise DefinitionError(f"{self.name}: {reference!r}: not UTF-8") from None


# A Swagger 2.0 document → the same as OpenAPI 3.0.
#
# By https://spec.openapis.org/oas/v2.0 and https://spec.openapis.org/oas/v3.0.3.


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
    return _Converter(tree).convert_document()


class _Converter:
    def __init__(self, tree: JsonObject) -> None:
        self.tree = tree

    def convert_document(self) -> JsonObject:
        tree = self.tree
        kept: JsonObject = {key: tree[key] for key in ("info", "tags", "externalDocs", "security") if key in tree}
        extensions = {key: value for key, value in tree.items() if str(key).startswith("x-")}
        paths = tree.get("paths", {})
        return {
            "openapi": "3.0.3",
            **kept,
            **extensions,
            "servers": self._convert_servers(),
            "paths": _convert_each(paths, self._convert_path) if isinstance(paths, dict) else paths,
            "components": {
                "schemas": _convert_each(_as_table(tree.get("definitions")), _convert_schema),
                "securitySchemes": _convert_each(_as_table(tree.get("securityDefinitions")), _security_scheme),
            },
        }

    def _convert_servers(self) -> list[JsonObject]:
        host, base = self.tree.get("host"), str(self.tree.get("basePath") or "").rstrip("/")
        schemes = [scheme for scheme in _words_in_list(self.tree.get("schemes")) if scheme in ("http", "https")] or [
            "https"
        ]
        if not host:
            return [{"url": base or "/"}]
        return [{"url": f"{scheme}://{host}{base}"} for scheme in sorted(schemes, reverse=True)]

    def _convert_path(self, item: Any) -> Any:
        item = self._resolve_shared(item)
        if not isinstance(item, dict):
            return item
        shared = [self._resolve_shared(each) for each in _list_or_empty(item.get("parameters"))]
        found: JsonObject = {key: value for key, value in item.items() if key not in (*_METHODS, "parameters")}
        for method in _METHODS:
            if isinstance(item.get(method), dict):
                found[method] = self._convert_operation(item[method], shared)
        return found

    def _convert_operation(self, operation: JsonObject, shared: list[Any]) -> JsonObject:
        own = [self._resolve_shared(each) for each in _list_or_empty(operation.get("parameters"))]
        said = {_parameter_key(each) for each in own}
        parameters = [*(each for each in shared if _parameter_key(each) not in said), *own]
        in_body = [each for each in parameters if isinstance(each, dict) and each.get("in") in ("body", "formData")]
        left_out = ("parameters", "responses", "consumes", "produces", "schemes")
        found: JsonObject = {key: value for key, value in operation.items() if key not in left_out}
        found["parameters"] = [_convert_parameter(each) for each in parameters if each not in in_body]
        if body := self._convert_body(in_body, self._media_types(operation, "consumes")):
            found["requestBody"] = body
        produces = self._media_types(operation, "produces") or [_JSON]
        found["responses"] = _convert_each(
            _as_table(operation.get("responses")), lambda each: self._convert_response(each, produces)
        )
        return found

    def _media_types(self, operation: JsonObject, key: str) -> list[str]:
        return _words_in_list(operation[key] if key in operation else self.tree.get(key))

    def _convert_body(self, parameters: list[JsonObject], consumes: list[str]) -> JsonObject | None:
        whole = next((each for each in parameters if each["in"] == "body"), None)
        if whole is not None:
            schema = _convert_schema(whole.get("schema", {}))
            content = {media: {"schema": schema} for media in consumes or [_JSON]}
            said: JsonObject = {key: whole[key] for key in ("description", "required") if key in whole}
            return {**said, "content": content}
        if not parameters:
            return None
        has_files = any(each.get("type") == "file" for each in parameters)
        forms = [media for media in consumes if media in (_FORM, _MULTIPART)]
        media = _MULTIPART if has_files else (forms or [_FORM])[0]
        properties = {str(each.get("name")): _convert_schema(_values_schema(each)) for each in parameters}
        required = [str(each.get("name")) for each in parameters if each.get("required") is True]
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        encoding = {
            str(each.get("name")): {"style": "form", **_STYLES[each["collectionFormat"]]}
            for each in parameters
            if each.get("collectionFormat") in _STYLES
        }
        content = {media: {"schema": schema, **({"encoding": encoding} if encoding else {})}}
        return {"required": bool(required), "content": content}

    def _convert_response(self, response: Any, produces: Iterable[str]) -> Any:
        response = self._resolve_shared(response)
        if not isinstance(response, dict):
            return response
        found: JsonObject = {
            key: value for key, value in response.items() if key not in ("schema", "headers", "examples")
        }
        if "schema" in response:
            schema = _convert_schema(response["schema"])
            found["content"] = {media: {"schema": schema} for media in produces}
        if isinstance(response.get("headers"), dict):
            found["headers"] = _convert_each(response["headers"], _convert_header)
        return found

    def _resolve_shared(self, node: Any) -> Any:
        """What a reference to a shared parameter, response or path stands for; a broken one as it is."""
        seen: set[str] = set()
        while isinstance(node, dict) and isinstance(reference := node.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            found: Any = self.tree if reference.startswith("#/") else None
            for part in reference[2:].split("/"):
                found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            if found is None:
                return _convert_schema(node)
            node = found
        return node


def _convert_parameter(parameter: Any) -> Any:
    if not isinstance(parameter, dict):
        return parameter
    left_out = (*_OF_VALUES, "collectionFormat", "allowEmptyValue")
    found: JsonObject = {key: value for key, value in parameter.items() if key not in left_out}
    if "type" in parameter:
        found["schema"] = _convert_schema(_values_schema(parameter, described=False))
    if parameter.get("type") == "array":
        style = _STYLES.get(parameter.get("collectionFormat", "csv"), {})
        found |= style if parameter.get("in") == "query" else {}
    return found


def _convert_header(header: Any) -> Any:
    return (
        {**_described_schema(header), "schema": _convert_schema(_values_schema(header, described=False))}
        if isinstance(header, dict)
        else header
    )


def _values_schema(parameter: JsonObject, *, described: bool = True) -> JsonObject:
    found = {key: parameter[key] for key in _OF_VALUES if key in parameter}
    return {**found, **(_described_schema(parameter) if described else {})}


def _described_schema(node: JsonObject) -> JsonObject:
    return {"description": node["description"]} if "description" in node else {}


def _convert_schema(node: Any) -> Any:
    """With references to where things are in OpenAPI 3, files as bytes, and what is said otherwise there."""
    if isinstance(node, list):
        return [_convert_schema(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {key: _convert_schema(value) for key, value in node.items()}
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
        return {"type": "http", "scheme": "basic", **_described_schema(scheme)}
    flow = str(scheme.get("flow"))
    said = {key: scheme[key] for key in ("authorizationUrl", "tokenUrl") if key in scheme}
    return {
        "type": "oauth2",
        **_described_schema(scheme),
        "flows": {_FLOWS.get(flow, flow): {**said, "scopes": _as_table(scheme.get("scopes"))}},
    }


def _parameter_key(parameter: Any) -> tuple[Any, Any]:
    """One of an operation stands in the place of that of its path. There is one body."""
    if not isinstance(parameter, dict):
        return None, None
    where = parameter.get("in")
    return (where, None if where == "body" else str(parameter.get("name")))


def _convert_each(table: Mapping[Any, Any], convert: Any) -> JsonObject:
    return {key: convert(value) for key, value in table.items()}


def _as_table(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _words_in_list(value: Any) -> list[str]:
    return [each for each in _list_or_empty(value) if isinstance(each, str)]


# An OpenAPI 3 document, or one of Swagger 2.0: its operations and servers, references resolved on demand.


_CONVERTERS = {
    "a Google Discovery document": "convert it first, for example with google-discovery-to-swagger",
    "a Postman collection": "convert it first, for example with postman-to-openapi, or export it as OpenAPI",
    "the schema of a GraphQL service": "a program without a document sends queries: api POST /graphql -d @query.json",
    "a web page": "save the document itself: its address mostly ends in .json, .yaml or .yml",
    "a HAR file": "convert it first, for example with har-to-openapi",
}
# How texts begin that are neither JSON nor YAML, or no tables of it.
_BEGINNINGS = {
    "a web page": re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE),
    "a WSDL document": re.compile(r"\s*<(?:[^>]*>\s*<)?[^>]*\bschemas\.xmlsoap\.org/wsdl\b"),
    "a WADL document": re.compile(r"\s*<(?:[^>]*>\s*<)?[^>]*\bwadl\b"),
    "a RAML document": re.compile(r"#%RAML\b"),
    "an API Blueprint": re.compile(r"FORMAT:\s*1A\b"),
    "a file of protocol buffers": re.compile(r'(?:\s*//[^\n]*\n)*\s*syntax\s*=\s*"proto'),
    "the schema of a GraphQL service": re.compile(
        r'(?:\s*#[^\n]*\n|\s*"""[^"]*""")*\s*(?:extend\s+)?'
        r"(?:(?:type|interface|input|enum)\s+\w+[^{}:]*\{|schema\s*\{|scalar\s+\w+\s|directive\s+@)"
    ),
}

_IN_ITEMS = (*_METHODS, "query")  # since OpenAPI 3.2, which has other methods in `additionalOperations`


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
        self.tree = _checked_document(name, tree)
        # What is known of a table in it, by its id; the table is kept with it, so that no other one gets the id.
        self.facts: dict[int, tuple[JsonObject, JsonObject]] = {}
        self._found: dict[str, Any] = {}  # what references point to

    def resolve_references(self, node: Any) -> Any:
        """What stands at the end of a chain of references; anything else is returned as it is."""
        seen: list[str] = []
        while isinstance(node, dict) and isinstance(node.get("$ref"), str):
            reference = node["$ref"]
            if reference in seen:
                raise DefinitionError(f"{self.name}: {reference} refers to itself")
            seen.append(reference)
            node = self.value_at_reference(reference)
        return node

    def value_at_reference(self, reference: str) -> Any:
        """What a local reference points to."""
        if reference not in self._found:
            self._found[reference] = self._follow_pointer(reference)
        return self._found[reference]

    def _follow_pointer(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise DefinitionError(
                f"{self.name}: {reference!r} is in another file", hint="bundle the document into one file first"
            )
        node: Any = self.tree
        for part in pointer_parts(reference):
            found = _step_into(node, part)
            if found is None:
                raise DefinitionError(f"{self.name}: {reference!r} cannot be resolved: no {part!r}")
            node = found
        return node

    def table_of(self, node: Any) -> JsonObject:
        """A resolved mapping; anything else counts as empty."""
        if isinstance(node, dict) and "$ref" not in node:  # nearly every one
            return node
        found = self.resolve_references(node)
        return found if isinstance(found, dict) else {}

    def server_urls(self) -> list[str]:
        return [url for server in self.tree.get("servers") or () if (url := server_url(server))]

    def http_operations(self, left_out: list[tuple[str, str]]) -> Iterator[HttpOperation]:
        """Every operation, by path and then method; `left_out` gets the paths that cannot be read, and why."""
        for path, node in sorted(self.tree["paths"].items(), key=lambda pair: str(pair[0])):
            if not str(path).startswith("/"):
                continue
            try:
                item = self.table_of(node)
                bare, query = _split_query(path)
                if query:
                    item = {**item, "parameters": [*query, *(item.get("parameters") or ())]}
                others = self.table_of(item.get("additionalOperations"))
                for method, operation in {**{name.upper(): item.get(name) for name in _IN_ITEMS}, **others}.items():
                    if method in METHODS and isinstance(operation, dict):
                        yield HttpOperation(self._base_path(item, operation) + bare, method, operation, item)
            except (DefinitionError, AttributeError, TypeError, ValueError) as error:
                left_out.append((str(path), str(error).removeprefix(f"{self.name}: ")))

    def own_server(self, call: HttpOperation) -> str:
        """Scheme and host of an operation that has a server of its own on another host; empty for any other."""
        first = next((urlsplit(each) for each in self.server_urls() if urlsplit(each).netloc), urlsplit(""))
        own = urlsplit(first_server(call.operation) or first_server(call.item))
        server = f"{own.scheme}://{own.netloc}"
        is_other = first.netloc and own.netloc and own.netloc != first.netloc
        return server if is_other and base_url_problem(server) is None else ""

    def _base_path(self, item: JsonObject, operation: JsonObject) -> str:
        return url_path(next(filter(None, map(first_server, (operation, item, self.tree))), ""))


_COLON_NAME, _EXPLODED_NAME = re.compile(r"/:([A-Za-z_]\w*)(?=/|\Z)"), re.compile(r"\{([^{}]+?)[+*]\}")


def _split_query(path: str) -> tuple[str, list[JsonObject]]:
    """A path as it is sent, and its query as parameters with one value each; what is behind a # is never sent."""
    bare, _, query = path.partition("#")[0].partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    fixed = [
        {"name": name, "in": "query", "required": True, "schema": {"type": "string", "enum": [value]}}
        for name, value in pairs
        if "{" not in value
    ]
    bare = _COLON_NAME.sub(r"/{\1}", bare)  # as other kinds of documents write it
    return _EXPLODED_NAME.sub(r"{\1}", bare), fixed


@lru_cache(maxsize=4096)
def pointer_parts(reference: str) -> tuple[str, ...]:
    """The decoded parts of `#/components/schemas/Pet`."""
    parts = reference[1:].strip("/").split("/")
    return tuple(unquote(part).replace("~1", "/").replace("~0", "~") for part in parts if part)


def _step_into(node: Any, part: str) -> Any:
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and part.isdigit() and int(part) < len(node):
        return node[int(part)]
    return None


def server_url(server: Any) -> str:
    """The URL of a server entry, its variables replaced by their defaults."""
    if not isinstance(server, Mapping):
        return ""
    url = str(server.get("url") or "")
    if "{" not in url:
        return url
    variables = server.get("variables") or {}
    return re.sub(r"\{([^}]+)\}", lambda found: str((variables.get(found[1]) or {}).get("default", "")), url)


def first_server(node: JsonObject) -> str:
    servers = node.get("servers")
    return server_url(servers[0]) if isinstance(servers, list) and servers else ""


@lru_cache(maxsize=64)  # of thousands of operations nearly all have the same server
def url_path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def read_document(text: str, name: str, path: str | None = None) -> Document:
    """Parse JSON or YAML. `path` is where it is, if files beside it may belong to it.

    Raises `DefinitionError` with the line of a syntax error.
    """
    for kind, begins in _BEGINNINGS.items():
        if begins.match(text):
            raise _named_kind(name, kind)
    tree = parse_document(text, name)
    has_files = path is not None and _OTHER_FILE.search(text)
    return Document(name, with_files_beside(tree, name, path) if path is not None and has_files else tree)


def _of_another_kind(name: str, tree: JsonObject, version: str) -> DefinitionError:
    """Named as what it is, with the way to convert it."""
    info = tree.get("info")
    kinds = {
        f"Swagger {tree.get('swagger') or tree.get('swaggerVersion')}": "swagger" in tree or "swaggerVersion" in tree,
        "a Google Discovery document": str(tree.get("kind", "")).startswith("discovery#"),
        "a Postman collection": "getpostman.com" in str(isinstance(info, dict) and info.get("schema")),
        "an AsyncAPI document": "asyncapi" in tree,
        "the schema of a GraphQL service": "__schema" in (tree.get("data") or tree),
        "an export of Insomnia": "__export_format" in tree,
        "a HAR file": isinstance(tree.get("log"), dict) and "entries" in tree["log"],
        "a JSON Schema": "json-schema.org" in str(tree.get("$schema")),
    }
    kind = next((kind for kind, holds in kinds.items() if holds), None)
    if kind is not None:
        return _named_kind(name, kind)
    found = f"openapi is {version!r}" if version else "no 'openapi' key"
    return DefinitionError(f"{name}: not an OpenAPI 3 document: {found}")


def _named_kind(name: str, kind: str) -> DefinitionError:
    hint = _CONVERTERS.get(kind, "ask its publisher for an OpenAPI 3 document")
    return DefinitionError(f"{name}: this is {kind}, expected OpenAPI 3 or Swagger 2.0", hint=hint)


def _checked_document(name: str, tree: Any) -> JsonObject:
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
