"""A JSON body against the schema its operation documents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from ...errors import UsageError, did_you_mean
from .model import Placeholder

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog

Fault = Any  # a jsonschema ValidationError, whose attributes are typed as maybe unset

_SHOWN = 10
_WIDEST = 60


def check_json(value: Any, schema_id: str, catalog: Catalog, operation: str, program: str) -> None:
    """`UsageError` telling each place where `value` departs from the schema."""
    faults = list(dict.fromkeys(_faults(value, schema_id, catalog)))
    if not faults:
        return
    hint = f"{program} op skeleton {operation}"
    if len(faults) == 1:
        raise UsageError(f"{operation}: {faults[0]}", hint=hint)
    more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
    message = f"{operation}: the body is not what it documents, in {len(faults)} places"
    raise UsageError(message, details=[*faults[:_SHOWN], *more], hint=hint)


def _faults(value: Any, schema_id: str, catalog: Catalog) -> Iterator[str]:
    schemas = _KNOWN.get(catalog)
    if schemas is None:
        schemas = _KNOWN[catalog] = _Schemas(catalog)
    try:
        for error in schemas.validator(schema_id).iter_errors(value):
            yield from describe_error(error)
    except RecursionError:
        yield "the body, or the schema that it is compared with, is nested too deeply"


class _Schemas:
    """The schemas of one catalog, each read once, as a command may send the same operation thousands of times.

    JSON Schema 2020-12, with `ref` naming a schema definition, which is read only when a value reaches it.
    """

    def __init__(self, catalog: Catalog) -> None:
        with _without_grammars():
            from jsonschema import Draft202012Validator, validators

        self._catalog = ref(catalog)  # what is known of a catalog must not keep it
        self._found: dict[str, Any] = {}
        checks = {**Draft202012Validator.VALIDATORS, "ref": self._follow}
        extend: Callable[..., Any] = validators.extend
        checked = {name: _ignoring_placeholders(check) for name, check in checks.items()}
        self.validator_of = extend(Draft202012Validator, validators=checked)

    def validator(self, schema_id: str) -> Any:
        return self.validator_of(self._get(schema_id))

    def _get(self, schema_id: str) -> Any:
        catalog = self._catalog()
        if schema_id not in self._found and catalog is not None:
            self._found[schema_id] = catalog.get("schema", schema_id)
        return self._found[schema_id]

    def _follow(self, validator: Any, schema_id: Any, instance: Any, _schema: Any) -> Iterable[Fault]:
        found: Iterable[Fault] = validator.descend(instance, self._get(schema_id))
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


def describe_error(error: Fault) -> list[str]:
    """One line for each fault: where in the body, what was expected, the closest key or value."""
    word = _WORDS.get(str(error.validator))
    texts = word(error) if word else [error.message if len(error.message) <= 3 * _WIDEST else "does not fit"]
    where = place(error)
    return [f"{where}: {text}" for text in texts]


def place(error: Fault) -> str:
    """As in `body.fields.labels[0]`."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path]
    return "body" + "".join(steps)


def shorten(value: Any) -> str:
    from ...jsontext import dump

    text = dump(value)
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


def _type(error: Fault) -> list[str]:
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    names = " or ".join(_TYPE_NAMES.get(name, str(name)) for name in wanted)
    return [f"expected {names}, not {shorten(error.instance)}"]


def _required(error: Fault) -> list[str]:
    return [f'"{name}" is missing' for name in error.validator_value if name not in error.instance]


def _unknown_keys(error: Fault) -> list[str]:
    if not isinstance(error.validator_value, bool):
        return [error.message]
    known = list(error.schema.get("properties", {}))
    patterned = bool(error.schema.get("patternProperties"))
    unknown = [] if patterned else [key for key in error.instance if key not in known]
    rest = f"; known are {', '.join(known)}" if known else "; it has no keys"
    return [f'"{key}" is not documented{did_you_mean(key, known) or rest}' for key in unknown] or [error.message]


def _enum(error: Fault) -> list[str]:
    allowed = [value for value in error.validator_value if isinstance(value, str)]
    guess = did_you_mean(error.instance, allowed) if isinstance(error.instance, str) else ""
    every = ", ".join(shorten(value) for value in error.validator_value)
    return [f"{shorten(error.instance)} is not an allowed value{guess or ': ' + every}"]


def _alternatives(error: Fault) -> list[str]:
    """The fault of the form that comes nearest."""
    from jsonschema.exceptions import best_match

    branches: dict[Any, list[Fault]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    if not branches:
        return ["fits more than one of the documented forms"]
    nearest = min(branches.values(), key=lambda faults: (len(faults), -max(len(f.path) for f in faults)))
    best = best_match(nearest) or nearest[0]
    inside = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in best.relative_path)
    text = describe_error(best)[0].partition(": ")[2]
    return [
        f"fits none of the {len(branches)} documented forms; nearest: {inside.lstrip('.')}{': ' * bool(inside)}{text}"
    ]


_WORDS: dict[str, Callable[[Fault], list[str]]] = {
    "type": _type,
    "required": _required,
    "additionalProperties": _unknown_keys,
    "enum": _enum,
    "anyOf": _alternatives,
    "oneOf": _alternatives,
}
