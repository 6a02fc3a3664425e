"""`NAME=VALUE` words → members of a body, at any depth and of the types that its schema says.

`address.city=Bonn` is a member of a member, `tags=a tags=b` are two items of a list, `lines.0.sku=x` is a member of the
first item. `NAME:=JSON` is JSON as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, did_you_mean
from ...language.dates import iso_moment

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...jsontext import JsonObject
    from ...language.shape.rest import Body

_DOT = re.compile(r"(?<!\\)\.")
_DEEPEST = 12
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
Forms = list[Mapping[str, Any]]


def split_word(word: str, option: str) -> tuple[str, bool, str]:
    """Name, whether JSON follows, and the text; raises `UsageError`."""
    name, equals, text = word.partition("=")
    is_json = name.endswith(":")
    name = name.removesuffix(":").strip()
    if not equals or not name:
        raise UsageError(f"{option}: expected NAME=VALUE, not {word!r}")
    return name, is_json, text


def parse_value(text: str, option: str, name: str) -> Any:
    from ...jsontext import JSONError, parse_json

    try:
        return parse_json(text)
    except JSONError as error:
        raise UsageError(f"{option}: {name}: {error}") from None


def members_of_words(
    words: Iterable[str], body: Body, catalog: Catalog, option: str, is_foreign: Callable[[str], bool]
) -> JsonObject:
    """Raises `UsageError` for a member that is not there, and a text that is not of its type."""
    found: JsonObject = {}
    schema: Mapping[str, Any] = {"ref": body["schema"]} if "schema" in body else _of_parts(body)
    for word in words:
        name, is_json, text = split_word(word, option)
        if is_json and is_foreign(word):
            raise UsageError(
                f"{option}: {name}:= takes JSON, and text from a tool call or an event cannot be used there"
            )
        steps = [step.replace("\\.", ".") for step in _DOT.split(name)]
        forms = list(_forms(schema, catalog))
        steps, forms = _followed(steps, forms, catalog, f"{option} {name}", strict=not is_json)
        kinds = _kinds(forms)
        if is_json:
            _put(found, steps, parse_value(text, option, name))
        elif "array" in kinds and not kinds - {"array", "null"}:
            items = [form for each in forms for form in _forms(each.get("items", {}), catalog)]
            _put(found, steps, _typed(text, items, f"{option} {name}"), many=True)
        else:
            _put(found, steps, _typed(text, forms, f"{option} {name}"))
    return found


def _of_parts(body: Body) -> JsonObject:
    """What is known of the parts of a form, whose values are texts."""
    parts = {name: part for name, part in body.get("parts", {}).items() if not part.get("file")}
    known: JsonObject = {}
    for name, part in parts.items():
        kind = {"type": part.get("type", "string")} if part.get("style") != "deep" else {}
        known[name] = {"type": "array", "items": kind} if part.get("many") else kind
    return {"type": "object", "properties": known} if parts else {}


def _forms(schema: Any, catalog: Catalog, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The plain schemas that a value may be of, references and alternatives followed."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    if "ref" in schema:
        yield from _forms(catalog.find("schema", schema["ref"]), catalog, depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(key, ()):
            yield from _forms(part, catalog, depth + 1)
    if schema.keys() - {"ref", "allOf", "anyOf", "oneOf", "description"}:
        yield schema


def _followed(steps: list[str], forms: Forms, catalog: Catalog, where: str, *, strict: bool) -> tuple[list[str], Forms]:
    """The way to a member, whose own name may have dots, and what is known of it."""
    way: list[str] = []
    while steps:
        known = {name: node for form in forms for name, node in form.get("properties", {}).items()}
        length = next((size for size in range(len(steps), 0, -1) if ".".join(steps[:size]) in known), 1)
        name, steps = ".".join(steps[:length]), steps[length:]
        inner = [form["properties"][name] for form in forms if name in form.get("properties", {})]
        if not inner and name.isdigit():
            inner = [form["items"] for form in forms if "items" in form]
        is_open = not known or any("additionalProperties" in form for form in forms)
        inner = inner or [form["additionalProperties"] for form in forms if "additionalProperties" in form]
        if strict and not inner and not is_open:
            near = did_you_mean(name, known) or f"; it has {', '.join(known)}"
            raise UsageError(f"{where}: there is no {name!r}{near}", hint="NAME:=JSON sends any member")
        forms = [form for node in inner for form in _forms(node, catalog)]
        way.append(name)
    return way, forms


def _kinds(forms: Forms) -> set[str]:
    said = [form.get("type") for form in forms]
    return {kind for each in said for kind in ([each] if isinstance(each, str) else each or ())}


def _typed(text: str, forms: Forms, where: str) -> Any:
    kinds = _kinds(forms)
    words = [word for form in forms for word in form.get("enum", ())]
    formats = {form.get("format") for form in forms}
    if text in words or not kinds:
        return text
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    if kinds & {"integer", "number"} and _NUMBER.fullmatch(text):
        value = parse_value(text, where, "number")
        if "number" in kinds or isinstance(value, int):
            return value
    if "string" in kinds:
        return iso_moment(text, str(next(filter(None, formats)))) if formats & {"date", "date-time"} else text
    if "null" in kinds and text in ("", "null"):
        return None
    if kinds <= {"object", "array", "null"}:
        raise UsageError(f"{where}: this has members: write NAME.MEMBER=VALUE, or NAME:=JSON")
    expected = " or ".join(_A[kind] for kind in _A if kind in kinds)
    raise UsageError(f"{where}: expected {expected}, not {text!r}")


_A = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}


def _put(target: JsonObject, steps: list[str], value: Any, *, many: bool = False) -> None:
    """At its place; a number is one in a list where it can only be that."""
    here: Any = target
    for step, following in zip(steps, [*steps[1:], ""], strict=True):
        last = following == ""
        at: Any = step
        if isinstance(here, list):
            at = min(int(step), len(here)) if step.isdigit() else len(here)
            here.extend([None] * (at + 1 - len(here)))
        if last and many:
            earlier = here.get(at) if isinstance(here, dict) else here[at]
            value = [*(earlier or []), value]
        if last:
            here[at] = value
        else:
            inner = here.get(at) if isinstance(here, dict) else here[at]
            if not isinstance(inner, dict | list):
                inner = [] if following.isdigit() else {}
                here[at] = inner
            here = inner
