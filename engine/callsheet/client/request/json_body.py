"""The members of a JSON body: from words, and against the schema that its operation documents."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from ...errors import UsageError, did_you_mean
from ...language.functions import iso_moment
from .http_request import Placeholder

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...jsontext import JsonObject
    from ...language.shape.rest import Body


# A JSON body against the schema its operation documents.


Fault = Any  # a jsonschema ValidationError, whose attributes are typed as maybe unset

_SHOWN = 10
_WIDEST = 60


class BodyFault(NamedTuple):
    """What is wrong at a place of a body; `missing` is the member that is not there."""

    path: tuple[str | int, ...]
    text: str
    missing: str = ""

    def in_words(self, place: str = "") -> str:
        """As in `body.fields.labels[0]: expected ...`, or as the place is called that a person gave."""
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{place or f'body{steps}'}: {self.text}"


class UnfitBody(UsageError):
    """A body that an operation does not take."""

    def __init__(
        self, message: str, faults: Sequence[BodyFault], hint: str | None, details: Sequence[str] = ()
    ) -> None:
        super().__init__(message, details=details, hint=hint)
        self.faults = faults


def unfit_body(what: str, faults: Sequence[BodyFault], texts: Sequence[str], hint: str | None) -> UnfitBody:
    """The error for some faults in these words."""
    if len(texts) == 1:
        return UnfitBody(f"{what}: {texts[0]}", faults, hint)
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    message = f"{what}: the body is not what it documents, in {len(texts)} places"
    return UnfitBody(message, faults, hint, [*texts[:_SHOWN], *more])


def check_json(value: Any, schema_id: str, catalog: Catalog, operation: str, program: str) -> None:
    """`UnfitBody` telling each place where `value` departs from the schema."""
    if found := body_faults(value, schema_id, catalog):
        texts = [fault.in_words() for fault in found]
        raise unfit_body(operation, found, texts, f"{program} op skeleton {operation}")


def body_faults(value: Any, schema_id: str, catalog: Catalog) -> list[BodyFault]:
    """Each place where `value` departs from the schema."""
    return list(dict.fromkeys(_schema_faults(value, schema_id, catalog)))


def _schema_faults(value: Any, schema_id: str, catalog: Catalog) -> Iterator[BodyFault]:
    schemas = _KNOWN.get(catalog)
    if schemas is None:
        schemas = _KNOWN[catalog] = _Schemas(catalog)
    try:
        for error in schemas.validator_for(schema_id).iter_errors(value):
            yield from faults_of_error(error)
    except RecursionError:
        yield BodyFault((), "this, or the schema that it is compared with, is nested too deeply")


class _Schemas:
    """The schemas of one catalog, each read once, as a command may send the same operation thousands of times.

    JSON Schema 2020-12, with `ref` naming a schema definition, which is read only when a value reaches it.
    """

    def __init__(self, catalog: Catalog) -> None:
        with _without_grammars():
            from jsonschema import Draft202012Validator, validators

        self._catalog = ref(catalog)  # what is known of a catalog must not keep it
        self._found: dict[str, Any] = {}
        checks = {**Draft202012Validator.VALIDATORS, "ref": self._follow_reference}
        extend: Callable[..., Any] = validators.extend
        checked = {name: _ignoring_placeholders(check) for name, check in checks.items()}
        self.validator_of = extend(Draft202012Validator, validators=checked)

    def validator_for(self, schema_id: str) -> Any:
        return self.validator_of(self._get_schema(schema_id))

    def _get_schema(self, schema_id: str) -> Any:
        catalog = self._catalog()
        if schema_id not in self._found and catalog is not None:
            self._found[schema_id] = catalog.schemas.get(schema_id)
        return self._found[schema_id]

    def _follow_reference(self, validator: Any, schema_id: Any, instance: Any, _schema: Any) -> Iterable[Fault]:
        found: Iterable[Fault] = validator.descend(instance, self._get_schema(schema_id))
        return found


_KNOWN: WeakKeyDictionary[Catalog, _Schemas] = WeakKeyDictionary()
_GRAMMARS = "rfc3987_syntax"


@contextmanager
def _without_grammars() -> Iterator[None]:
    """Where it is installed, jsonschema imports a package that takes a second, for formats that nothing checks here."""
    if _GRAMMARS in sys.modules:
        yield
        return
    sys.modules[_GRAMMARS] = None  # type: ignore[assignment]  # an import of it fails
    try:
        yield
    finally:
        del sys.modules[_GRAMMARS]


def _ignoring_placeholders(check: Callable[..., Any]) -> Callable[..., Any]:
    def checked(validator: Any, rule: Any, instance: Any, schema: Any) -> Any:
        return () if isinstance(instance, Placeholder) else check(validator, rule, instance, schema)

    return checked


def faults_of_error(error: Fault) -> list[BodyFault]:
    """Each fault: where in the body, what was expected, the closest key or value."""
    path = tuple(error.absolute_path)
    if error.validator == "required":
        names = [name for name in error.validator_value if name not in error.instance]
        return [BodyFault(path, f'"{name}" is missing', name) for name in names]
    word = _WORDS.get(str(error.validator))
    texts = word(error) if word else [error.message if len(error.message) <= 3 * _WIDEST else "does not fit"]
    return [BodyFault(path, text) for text in texts]


def shortened_value(value: Any) -> str:
    from ...jsontext import dump_json

    text = dump_json(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


_TYPE_NAMES: dict[Any, str] = {
    "object": "an object",
    "array": "an array",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _type_fault(error: Fault) -> list[str]:
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    names = " or ".join(_TYPE_NAMES.get(name, str(name)) for name in wanted)
    return [f"expected {names}, not {shortened_value(error.instance)}"]


def _unknown_keys(error: Fault) -> list[str]:
    if not isinstance(error.validator_value, bool):
        return [error.message]
    known = list(error.schema.get("properties", {}))
    patterned = bool(error.schema.get("patternProperties"))
    unknown = [] if patterned else [key for key in error.instance if key not in known]
    rest = f"; known are {', '.join(known)}" if known else "; it has no keys"
    return [f'"{key}" is not documented{did_you_mean(key, known) or rest}' for key in unknown] or [error.message]


def _enum_fault(error: Fault) -> list[str]:
    allowed = [value for value in error.validator_value if isinstance(value, str)]
    guess = did_you_mean(error.instance, allowed) if isinstance(error.instance, str) else ""
    every = ", ".join(shortened_value(value) for value in error.validator_value)
    return [f"{shortened_value(error.instance)} is not an allowed value{guess or ': ' + every}"]


def _alternatives_fault(error: Fault) -> list[str]:
    """The fault of the nearest form: one whose fixed words are given, else the one with the fewest faults."""
    from jsonschema.exceptions import best_match

    branches: dict[Any, list[Fault]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    if not branches:
        return ["fits more than one of the documented forms"]
    at = min(branches, key=lambda each: _distance_from_form(branches[each]))
    best = best_match(branches[at]) or branches[at][0]
    inside = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in best.relative_path)
    named = _form_name(error.validator_value[at])
    text = "; ".join(dict.fromkeys(fault.text for fault in faults_of_error(best)))
    form = f"nearest is {named}" if named else "nearest"
    return [
        f"fits none of the {len(branches)} documented forms; {form}: {inside.lstrip('.')}{': ' * bool(inside)}{text}"
    ]


def _distance_from_form(faults: list[Fault]) -> tuple[bool, int, int]:
    """A word that is another one than a form has tells that the form is not meant."""
    is_another = any(
        (fault.validator in ("const", "enum") and len(fault.path) == 1)
        or (fault.validator == "type" and not fault.path)
        for fault in faults
    )
    missing = sum(len(faults_of_error(fault)) for fault in faults)
    return is_another, missing, -max(len(fault.path) for fault in faults)


def _form_name(form: Any) -> str:
    """What a document calls a form: its title, or its name without that of the product."""
    return str(form.get("title") or str(form.get("ref", "")).partition(".")[2]) if isinstance(form, dict) else ""


def _bound(word: str, measure: str) -> Callable[[Fault], list[str]]:
    """A length is told with the limit; the value itself may be long."""

    def bound_fault(error: Fault) -> list[str]:
        given = len(error.instance) if measure else shortened_value(error.instance)
        return [f"expected {word} {shortened_value(error.validator_value)}{measure}, not {given}"]

    return bound_fault


_WORDS: dict[str, Callable[[Fault], list[str]]] = {
    "type": _type_fault,
    "additionalProperties": _unknown_keys,
    "enum": _enum_fault,
    "anyOf": _alternatives_fault,
    "oneOf": _alternatives_fault,
    "maxLength": _bound("at most", " characters"),
    "minLength": _bound("at least", " characters"),
    "maxItems": _bound("at most", " values"),
    "minItems": _bound("at least", " values"),
    "maximum": _bound("at most", ""),
    "minimum": _bound("at least", ""),
}


# `NAME=VALUE` words → members of a body, at any depth and of the types that its schema says.
#
# `address.city=Bonn` is a member of a member, `tags=a tags=b` are two items of a list, `lines.0.sku=x` is a member
# of the first item. `NAME:=JSON` is JSON as it stands.


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
        forms = list(_schema_forms(schema, catalog))
        steps, forms = _follow_member(steps, forms, catalog, f"{option} {name}", strict=not is_json)
        kinds = _kinds_of_forms(forms)
        if is_json:
            _put_member(found, steps, parse_value(text, option, name))
        elif "array" in kinds and not kinds - {"array", "null"}:
            items = [form for each in forms for form in _schema_forms(each.get("items", {}), catalog)]
            _put_member(found, steps, _typed_word(text, items, f"{option} {name}"), many=True)
        else:
            _put_member(found, steps, _typed_word(text, forms, f"{option} {name}"))
    return found


def _of_parts(body: Body) -> JsonObject:
    """What is known of the parts of a form, whose values are texts."""
    parts = {name: part for name, part in body.get("parts", {}).items() if not part.get("file")}
    known: JsonObject = {}
    for name, part in parts.items():
        kind: JsonObject = {"ref": part["schema"]} if "schema" in part else {"type": part.get("type", "string")}
        kind = kind if part.get("style") != "deep" else {}
        known[name] = {"type": "array", "items": kind} if part.get("many") else kind
    return {"type": "object", "properties": known} if parts else {}


def _schema_forms(schema: Any, catalog: Catalog, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The plain schemas that a value may be of, references and alternatives followed."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    if "ref" in schema:
        yield from _schema_forms(catalog.schemas.find(schema["ref"]), catalog, depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(key, ()):
            yield from _schema_forms(part, catalog, depth + 1)
    if schema.keys() - {"ref", "allOf", "anyOf", "oneOf", "description"}:
        yield schema


def _follow_member(
    steps: list[str], forms: Forms, catalog: Catalog, where: str, *, strict: bool
) -> tuple[list[str], Forms]:
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
        forms = [form for node in inner for form in _schema_forms(node, catalog)]
        way.append(name)
    return way, forms


def _kinds_of_forms(forms: Forms) -> set[str]:
    said = [form.get("type") for form in forms]
    return {kind for each in said for kind in ([each] if isinstance(each, str) else each or ())}


def _typed_word(text: str, forms: Forms, where: str) -> Any:
    kinds = _kinds_of_forms(forms)
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


def _put_member(target: JsonObject, steps: list[str], value: Any, *, many: bool = False) -> None:
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
