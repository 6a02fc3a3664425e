"""Does a request fit an OpenAPI 3.0 document? Written for the tests, independent of the importer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator, validators

from callsheet.client.request.http_request import File, Form, Json, Multipart, Raw, Request

JSON = re.compile(r"application/([\w.-]+\+)?json")
UNDOCUMENTED = {"authorization", "accept", "content-type"}


class OpenAPI:
    """`server` is what the paths of the document stand below."""

    def __init__(self, path: Path, server: str = "") -> None:
        self.tree = json.loads(path.read_text(encoding="utf-8"))
        self.server = server
        self.validator = _validator(self.resolve)

    def resolve(self, node: Any) -> Any:
        while isinstance(node, dict) and "$ref" in node:
            found = self.tree
            for part in node["$ref"][2:].split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            node = found
        return node

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, item in self.tree["paths"].items():
            for method, operation in item.items():
                if method in ("get", "put", "post", "delete", "patch"):
                    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
                    yield path, method.upper(), {**operation, "parameters": parameters}

    def problems(self, request: Request) -> list[str]:
        """Everything in which a request departs from the document."""
        found = self.find(request)
        if found is None:
            return [f"no {request.method} {request.path}"]
        operation, values = found
        parameters = [self.resolve(node) for node in operation["parameters"]]
        problems = [*self._placed(parameters, "path", [(k, unquote(v)) for k, v in values.items()])]
        problems += self._placed(parameters, "query", list(request.query))
        headers = {p["name"].lower(): p["name"] for p in parameters if p["in"] == "header"}
        sent = [(headers[k.lower()], v) for k, v in request.headers if k.lower() in headers]
        problems += self._placed([p for p in parameters if p["name"].lower() not in UNDOCUMENTED], "header", sent)
        return problems + list(self._body(operation, request))

    def find(self, request: Request) -> tuple[dict[str, Any], dict[str, str]] | None:
        """The operation with the most literal path that the request's path fits."""
        best: tuple[int, dict[str, Any], dict[str, str]] | None = None
        for path, method, operation in self.operations():
            if method == request.method:
                pattern = re.sub(r"\\\{([^}]+)\\\}", r"([^/]+)", re.escape(self.server + path))
                match = re.fullmatch(pattern, request.path)
                names = re.findall(r"\{([^}]+)\}", path)
                if match and (best is None or len(names) < best[0]):
                    best = len(names), operation, dict(zip(names, match.groups(), strict=True))
        return best and best[1:]

    def _placed(self, parameters: list[dict[str, Any]], place: str, sent: list[tuple[str, str]]) -> Iterator[str]:
        known = {p["name"]: p for p in parameters if p["in"] == place}
        free = [p for p in known.values() if _spread(p)]
        for name in {name for name, _ in sent} - set(known):
            if not free:
                yield f"{place} {name}: not documented"
        for name, parameter in known.items():
            texts = [text for key, text in sent if key == name]
            if not texts and parameter.get("required") and not _spread(parameter):
                yield f"{place} {name}: missing"
            if texts:
                for error in self._errors(_read(parameter, texts), parameter["schema"]):
                    yield f"{place} {name}: {error}"

    def _errors(self, value: Any, schema: Any) -> list[str]:
        return [f"{error.json_path}: {_ends(error.message)}" for error in self.validator(schema).iter_errors(value)]

    def _body(self, operation: dict[str, Any], request: Request) -> Iterator[str]:
        documented = self.resolve(operation.get("requestBody"))
        if request.body is None:
            if documented and documented.get("required"):
                yield "body: missing"
            return
        if not documented:
            yield "body: not documented"
            return
        content = {media.partition(";")[0]: entry for media, entry in documented["content"].items()}
        match request.body:
            case Json(value, media):
                entry = content.get(media, content.get("*/*"))
                if entry is None:
                    yield f"body: {media} is not documented"
                elif "schema" in entry:
                    yield from (f"body: {text}" for text in self._errors(value, entry["schema"]))
            case Multipart(parts):
                yield from self._parts(content, [(part.name, part.file is not None) for part in parts])
            case Form() | Raw() | File():
                media = request.body.media or ""
                if media not in content and "*/*" not in content:
                    yield f"body: {media} is not documented"

    def _parts(self, content: dict[str, Any], parts: list[tuple[str, bool]]) -> Iterator[str]:
        entry = content.get("multipart/form-data")
        if entry is None:
            yield "body: multipart/form-data is not documented"
            return
        schema = self.resolve(entry["schema"])
        if schema.get("type") == "array":
            yield from (f"part {name}: not a file" for name, is_file in parts if not is_file)
            return
        names = [name for name, _ in parts]
        yield from (f"part {name}: not documented" for name in names if name not in schema["properties"])
        yield from (f"part {name}: missing" for name in schema.get("required", ()) if name not in names)


def _spread(parameter: dict[str, Any]) -> bool:
    schema = parameter["schema"]
    return parameter["in"] == "query" and schema.get("type") == "object" and "style" not in parameter


def _read(parameter: dict[str, Any], texts: list[str]) -> Any:
    """The value that a server reads out of what was sent, by the documented style."""
    schema = parameter["schema"]
    if schema.get("type") == "array":
        exploded = parameter.get("explode", parameter["in"] == "query")
        items = texts if exploded else [item for text in texts for item in text.split(",")]
        return [_typed(item, schema.get("items", {})) for item in items]
    return _typed(texts[0], schema) if len(texts) == 1 else texts


def _typed(text: str, schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return float(text) if kind == "number" else text


def _validator(resolve: Any) -> Any:
    """JSON Schema as OpenAPI 3.0 has it: nullable, read-only properties never asked for, lenient patterns."""
    base = Draft202012Validator.VALIDATORS

    def reference(validator: Any, ref: str, instance: Any, schema: Any) -> Any:
        return validator.descend(instance, resolve({"$ref": ref}))

    def unless_null(name: str) -> Any:
        def check(validator: Any, rule: Any, instance: Any, schema: Any) -> Any:
            return () if instance is None and schema.get("nullable") else base[name](validator, rule, instance, schema)

        return check

    def required(validator: Any, names: list[str], instance: Any, schema: Any) -> Any:
        properties = schema.get("properties", {})
        wanted = [name for name in names if not resolve(properties.get(name, {})).get("readOnly")]
        return base["required"](validator, wanted, instance, schema)

    def pattern(validator: Any, rule: str, instance: Any, schema: Any) -> Any:
        try:
            re.compile(rule)
        except re.error:
            return ()
        return base["pattern"](validator, rule, instance, schema)

    own = {"$ref": reference, "required": required, "pattern": pattern}
    return validators.extend(Draft202012Validator, {**own, **{name: unless_null(name) for name in ("type", "enum")}})


def _ends(message: str) -> str:
    """A message without its middle, which can be a whole body."""
    return message if len(message) < 400 else f"{message[:200]} ... {message[-200:]}"
