"""Whether the schemas of bodies can be used, and whether what is sent as a body fits them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, product
from operator import gt, lt
from typing import Any

from ...errors import did_you_mean, slip_of
from ..conditions import written_results
from ..merge import ON, said_by_deployment
from ..parameters import REWRITING, to_identifier
from ..problem import Finding, Findings
from ..scopes import names_written, plain_paths, root_names
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, compile_template, expressions_in_text, split_template, texts_in
from ..value_kinds import A_KIND, kinds_of_results
from .backtracking import lengths_of_matches
from .references import PYTHON_TYPES, pattern_fault

# Whether what a command sends as a body can be what the operation documents, as far as it is written out.


Params = Mapping[str, Any]  # by the names that expressions have for them

_NO_PARAMS: Params = {}
_SAMPLES: dict[str, Any] = {"integer": 1, "number": 0.5, "text": "a", "path": "a"}


def body_example_findings(definitions: Definitions, operation: Definition) -> Findings:
    """A body that is shown as one that could be meant, and could not."""
    for at, here in said_by_deployment(operation.table):
        body = here.get("body", {})
        if "example" in body and "schema" in body:
            faults = body_faults(definitions, {"ref": body["schema"]}, body["example"])
            yield from (Finding((*at, "body", "example", *path), text) for path, text in faults)


def body_faults(
    definitions: Definitions, schema: Any, body: Any, path: Path = (), *, params: Params = _NO_PARAMS
) -> Iterator[tuple[Path, str]]:
    """What is wrong wherever no placeholder stands; where a schema gives several forms, what is wrong in each of them.

    Of placeholders only those are judged that take one parameter as it was typed.
    """
    if forms := _forms_for(definitions, schema, body):
        # One value of several may be for one form, and the next for another.
        single = {
            name: param
            for name, param in params.items()
            if not {"choices", "default"} & param.keys() or param.get("convert") in TYPE_OF_CONVERTED
        }
        faults = [[*body_faults(definitions, form, body, path, params=single)] for form in forms]
        yield from min(faults, key=len) if all(faults) else ()
        return
    schema = resolved_schema(definitions, schema)
    kinds = types_of_schema(schema)
    if not schema or _is_filled(body):
        param = params.get(body[1:-1].strip()) if isinstance(body, str) else None
        if param is not None and schema:
            yield from islice(_param_faults(definitions, schema, param, path), 1)
        elif schema and isinstance(body, str) and not body[1:-1].isidentifier():  # of a name alone nothing is known
            written = (body_faults(definitions, schema, each, path) for each in written_values(body, params))
            made = chain(_result_faults(kinds, body, path), _made_table_faults(schema, body, path))
            yield from islice(chain(chain.from_iterable(written), made), 1)
        return
    if kinds and not any(fits_kind(kind, body) for kind in kinds):
        yield path, f"expected {' or '.join(kinds)}, not {body!r}"
    elif isinstance(schema.get("enum"), list) and body not in schema["enum"]:
        near = did_you_mean(body, map(str, schema["enum"])) if isinstance(body, str) else ""
        yield path, f"{body!r} is not an allowed value{near}"
    elif isinstance(body, dict):
        yield from _table_faults(definitions, schema, body, path, params)
    elif isinstance(body, list):
        if _is_beyond(len(body), schema, "maxItems"):
            yield path, f"has {len(body)} values, and at most {schema['maxItems']} are allowed"
        for place, item in enumerate(body if "items" in schema else ()):
            yield from body_faults(definitions, schema["items"], item, (*path, place), params=params)
    elif isinstance(body, str):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and pattern_fault(pattern) is None and not re.search(pattern, body):
            yield path, f"{body!r} does not fit {pattern!r}"
        form = schema.get("format")
        if form in _TIMES and "enum" not in schema and not _TIMES[form].match(body):
            yield path, f"{body!r} is not in the form of a {form}, such as {_EXAMPLES[form]}"
        if _is_beyond(len(body), schema, "maxLength"):
            yield path, f"has {len(body)} letters, and at most {schema['maxLength']} are allowed"
        if _is_beyond(len(body), schema, "minLength"):
            yield path, f"has {len(body)} letters, and at least {schema['minLength']} are needed"
    elif isinstance(body, int | float):
        for bound, is_beyond in (("minimum", lt), ("maximum", gt)):
            if isinstance(schema.get(bound), int | float) and is_beyond(body, schema[bound]):
                yield path, f"{body} is {'below' if bound == 'minimum' else 'above'} the {bound}, {schema[bound]}"


def _result_faults(kinds: Sequence[str], text: str, path: Path) -> Iterator[tuple[Path, str]]:
    """What placeholders make of a text that is no such value."""
    try:
        pieces = [*split_template(text)]
    except TemplateError:
        return
    found = kinds_of_results(pieces[0][1]) if len(pieces) == 1 and pieces[0][0] else frozenset({"string"})
    fitting = {*kinds, *(["number"] if "integer" in kinds else [])}
    if kinds and found and "" not in found and not found & fitting:
        yield path, f"expected {' or '.join(kinds)}, and {text} is {A_KIND[min(found)]}"


def _made_table_faults(schema: Mapping[str, Any], text: str, path: Path) -> Iterator[tuple[Path, str]]:
    """Members that an expression writes out, of the one placeholder that a text is."""
    known = schema.get("properties", {})
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    pieces: list[tuple[bool, str]] = []
    with suppress(TemplateError):
        pieces = [*split_template(text)] if known and "{" in text[1:] else []
    for name in names_written(pieces[0][1]) if len(pieces) == 1 else ():
        near = slip_of(name, known)
        if name not in known and (is_closed or near is not None):
            yield path, f"{name!r} is not documented{did_you_mean(name, known)}"


def lacking_members(
    definitions: Definitions, schema: Any, body: Any, path: Path = ()
) -> Iterator[tuple[Path, list[str]]]:
    """What the tables that are written out in a body must have, and do not, where no other form fits them."""
    schema = resolved_schema(definitions, schema)
    if isinstance(body, dict):
        if lacking := [name for name in schema.get("required", ()) if name not in body]:
            yield path, lacking
        known = schema.get("properties", {})
        for key, value in body.items():
            if key in known:
                yield from lacking_members(definitions, known[key], value, (*path, key))
    elif isinstance(body, list) and isinstance(schema.get("items"), Mapping):
        for place, item in enumerate(body):
            yield from lacking_members(definitions, schema["items"], item, (*path, place))


def _forms_for(definitions: Definitions, schema: Any, body: Any) -> list[Any]:
    """The forms that a schema gives for one value: of a table those that document all that is written in it."""
    schema = _follow_references(definitions, schema)
    if not isinstance(schema, Mapping):
        return []
    forms: list[Any] = next((schema[key] for key in ("oneOf", "anyOf") if isinstance(schema.get(key), list)), [])
    if not isinstance(body, dict):
        return forms
    return [form for form in forms if body.keys() <= resolved_schema(definitions, form).get("properties", {}).keys()]


def _is_beyond(count: int, schema: Mapping[str, Any], key: str) -> bool:
    """What a keyword holds that is no number is told of the schema."""
    bound: Any = schema.get(key)
    return _is_count(bound) and bool(count < bound if key.startswith("min") else count > bound)


_TIMES = {
    "date": re.compile(r"\d{4}-\d\d-\d\d$"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d"),
}
_EXAMPLES = {"date": "2026-12-31", "date-time": "2026-12-31T23:59:58Z"}


def _param_faults(
    definitions: Definitions, schema: Mapping[str, Any], param: Any, path: Path
) -> Iterator[tuple[Path, str]]:
    """What is wrong with any value that a parameter can have."""
    kinds = types_of_schema(schema)
    converted = TYPE_OF_CONVERTED.get(str(param.get("convert")))
    if converted is not None and kinds and converted not in kinds and not has_several(param):
        made = f"makes {'a table' if converted == 'object' else 'a text'} of {param['name']!r}"
        yield path, f"expected {' or '.join(kinds)}, and convert = {param['convert']!r} {made}"
    if is_taken_as_typed(definitions, param) and kinds and not {"string", "object"} & {*kinds}:
        name = to_identifier(param["name"])
        near = f": write to_number({name})" if {"integer", "number"} & {*kinds} else ""
        near = f": write [{name}]" if kinds == ["array"] else near
        yield path, f"expected {' or '.join(kinds)}, and what is typed for {param['name']!r} is a text{near}"
    if param.get("removes") and kinds and "object" not in kinds:
        yield path, f"expected {' or '.join(kinds)}, and {param['name']!r} is a table of `add` and `remove`"
    if has_several(param) and REWRITING.isdisjoint(param):
        if kinds and "array" not in kinds:
            yield path, f"expected {' or '.join(kinds)}, and {param['name']!r} is a list of values"
        return
    if is_whole_candidate(definitions, param) and kinds and "object" not in kinds:
        yield path, f"expected {' or '.join(kinds)}, and {param['name']!r} is {WHOLE_CANDIDATE}"
    lookup = definitions.get(("lookup", param.get("lookup", "")))
    if kinds == ["object"] and lookup is not None and REWRITING.isdisjoint(param):
        found = lookup.table.get("value", "id")
        yield path, f"expected object, and {param['name']!r} is the {found} that was found"
    if is_changed(param):
        return
    values = param.get("choices", [True] if param.get("kind") == "flag" else [])
    for value in [*values, *([param["default"]] if "default" in param else [])]:
        yield from body_faults(definitions, schema, value, path)
    sample = _SAMPLES.get(param.get("type", "text")) if param.get("kind") != "flag" else None
    if sample is not None and kinds and not any(fits_kind(kind, sample) for kind in kinds):
        kind = "a whole number" if param.get("type") == "integer" else f"a {param.get('type', 'text')}"
        yield path, f"expected {' or '.join(kinds)}, and {param['name']!r} is {kind}"


def _table_faults(
    definitions: Definitions, schema: Mapping[str, Any], body: dict[str, Any], path: Path, params: Params
) -> Iterator[tuple[Path, str]]:
    known = schema.get("properties", {})
    for key, value in body.items():
        if key in known:
            yield from body_faults(definitions, known[key], value, (*path, key), params=params)
        elif schema.get("additionalProperties") is False and "patternProperties" not in schema:
            yield (*path, key), f"not documented{did_you_mean(key, known)}"
        elif isinstance(schema.get("additionalProperties"), Mapping) and "patternProperties" not in schema:
            yield from body_faults(definitions, schema["additionalProperties"], value, (*path, key), params=params)
        elif (meant := slip_of(key, [each for each in known if each not in body])) is not None:
            yield (*path, key), f"not documented, did you mean {meant!r}?"


def _follow_references(definitions: Definitions, schema: Any) -> Any:
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(schema.get("ref"), str) and schema["ref"] not in seen:
        seen.add(schema["ref"])
        found = definitions.get(("schema", schema["ref"]))
        schema = found.table if found else {}
    return schema


def resolved_schema(definitions: Definitions, schema: Any) -> Mapping[str, Any]:
    """The schema that a reference stands for; nothing where it has alternatives, or cannot be used: that is told."""
    schema = _follow_references(definitions, schema)
    if not isinstance(schema, Mapping) or {"anyOf", "oneOf", "allOf", "if", "not"} & schema.keys():
        return {}
    return schema if _is_usable(schema) else {}


def _is_usable(schema: Mapping[str, Any]) -> bool:
    """Whether its members, what they are called, and its types are of the kinds that JSON Schema has for them."""
    members, needed = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(members, Mapping) or not all(isinstance(each, Mapping) for each in members.values()):
        return False
    return isinstance(needed, list) and all(isinstance(each, str) for each in [*needed, *types_of_schema(schema)])


def fits_kind(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, PYTHON_TYPES.get(kind, object))


def _is_filled(value: Any) -> bool:
    """Whether a text has placeholders; one that is broken is told elsewhere."""
    try:
        return isinstance(value, str) and bool(expressions_in_text(value))
    except TemplateError:
        return True


# Whether the schemas of bodies can be used: JSON Schema's own keywords and what they hold, patterns, references.


TYPES = ("null", "boolean", "object", "array", "number", "integer", "string")
_ONE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
_SAME_VALUE = ("allOf", "anyOf", "oneOf")

_LARGEST = sys.float_info.max  # neither infinite, nor a whole number beyond all others

Is = Callable[[Any], bool]


def _is_finite_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _lists_of_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_are_names(item) for item in value.values())


def _is_anything(_: Any) -> bool:
    return True


_HOLDS: dict[str, tuple[Is, str]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (_is_finite_number, "a number")),
    "multipleOf": (lambda value: _is_finite_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(
        (
            *("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
            *("minProperties", "maxProperties"),
        ),
        (_is_count, "a whole number of at least 0"),
    ),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable"), (_is_flag, "true or false")),
    **dict.fromkeys(("format", "title", "description", "pattern", "ref"), (_is_text, "a text")),
    "required": (_are_names, "a list of names"),
    "dependentRequired": (_lists_of_names, "lists of names"),
    "enum": (lambda value: isinstance(value, list) and bool(value), "a list of at least one value"),
    **dict.fromkeys(("type", "const", "default", "example", "examples"), (_is_anything, "")),
}
SCHEMA_KEYWORDS = (*_HOLDS, *_ONE, *_LISTED, *_NAMED)


def can_hold(key: str, value: Any) -> bool:
    """Whether a keyword of JSON Schema can have this value."""
    if key == "type":
        return all(kind in TYPES for kind in (value if isinstance(value, list) else [value]))
    return key not in _HOLDS or _HOLDS[key][0](value)


def schema_problems(
    definitions: Definitions, definition: Definition, known: set[str], endless: Collection[str]
) -> Findings:
    yield from _schema_findings(definition.table, (), known)
    for path, table, name in unnamed_members(definition.table):
        near = did_you_mean(name, table.get("properties", {}))
        beside = ", and `additionalProperties` takes no other" if table.get("additionalProperties") is False else ""
        yield Finding(path, f"`properties` have no {name!r}{near or beside}")
    if definition.id in endless and _leads_back(definitions, definition.id, _same_value):
        yield Finding((), "refers back to itself without an object or a list between")
    if "required" in definition.table and _leads_back(definitions, definition.id, _always_inside):
        yield Finding(("required",), "no value has all of it: what it needs holds another one of these, and so on")


def _schema_findings(schema: Any, path: Path, known: set[str]) -> Findings:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield Finding(path, f"expected a schema (a table), not {schema!r}")
        return
    wrong = list(_keyword_findings(schema, path))
    yield from wrong or _impossible_findings(schema, path)
    reference = schema.get("ref")
    if isinstance(reference, str) and reference not in known:
        text = f"no schema {reference!r}{did_you_mean(reference, known)}"
        yield Finding((*path, "ref"), text, (("schema", reference),))
    yield from _type_findings(schema.get("type", []), (*path, "type"))
    patterns: dict[Path, Any] = {
        ("patternProperties", name): name for name in _keyword_table(schema, "patternProperties")
    }
    if isinstance(schema.get("pattern"), str):
        patterns["pattern",] = schema["pattern"]
    for key, pattern in patterns.items():
        if fault := pattern_fault(pattern):
            yield Finding((*path, *key), fault)
    for key, inner in _schemas_inside(schema):
        if inner is None:
            yield Finding((*path, *key), "expected a table or list of schemas")
        else:
            yield from _schema_findings(inner, (*path, *key), known)


def _keyword_findings(schema: Mapping[str, Any], path: Path) -> Findings:
    for key, value in schema.items():
        if key not in SCHEMA_KEYWORDS:
            yield Finding((*path, key), f"not a keyword of JSON Schema{did_you_mean(key, SCHEMA_KEYWORDS)}")
        elif key in _HOLDS and not _HOLDS[key][0](value):
            yield Finding((*path, key), f"expected {_HOLDS[key][1]}, not {value!r}")


_BOUNDS = (
    *product(("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")),
    *(("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties")),
)


def _impossible_findings(schema: Mapping[str, Any], path: Path) -> Findings:
    """What no value can be, and what says nothing of any."""
    for least, most in _BOUNDS:
        if least in schema and most in schema:
            is_one_left_out = least.startswith("ex") or most.startswith("ex")
            if schema[least] > schema[most]:
                yield Finding((*path, least), f"is above {most}, {schema[most]}")
            elif is_one_left_out and schema[least] == schema[most]:
                yield Finding((*path, least), f"leaves nothing below {most}, {schema[most]}")
    for key, text in _pattern_findings(schema):
        yield Finding((*path, key), text)
    for key in _SAME_VALUE:
        if schema.get(key) == []:
            yield Finding((*path, key), "expected at least one schema")
    yield from (Finding((*path, *keys), text) for keys, text in unfit_keywords(schema))


def _pattern_findings(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A pattern and a length that no text has together."""
    pattern = schema.get("pattern")
    if not isinstance(pattern, str) or not {"maxLength", "minLength"} & schema.keys() or pattern_fault(pattern):
        return
    least, most = lengths_of_matches(pattern)
    if "maxLength" in schema and least > schema["maxLength"]:
        yield "maxLength", f"is below the {least} letters that a text has which fits {pattern!r}"
    if "minLength" in schema and most < schema["minLength"]:
        yield "minLength", f"is above the {most} letters that a text has at most which fits {pattern!r}"


# What each keyword says something of; a keyword that is not here does of values of any type.
_ABOUT = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("items", "prefixItems", "contains", "unevaluatedItems"), "array"),
    **dict.fromkeys(("minItems", "maxItems", "uniqueItems", "minContains", "maxContains"), "array"),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties", "propertyNames"), "object"),
    **dict.fromkeys(("required", "dependentRequired", "dependentSchemas", "unevaluatedProperties"), "object"),
    **dict.fromkeys(("minProperties", "maxProperties"), "object"),
}


def unfit_keywords(schema: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The keywords that say nothing of any value which the schema allows, or what it does not allow, and why.

    Of a list of values the places of those. Every keyword holds what it can hold.
    """
    kinds = types_of_schema(schema)
    of_type = f"of type {' or '.join(map(str, kinds))}"
    for key in schema if kinds else ():
        about = _ABOUT.get(key)
        if about and about not in kinds and not (about == "number" and "integer" in kinds):
            yield (key,), f"says something of type {about}, and this is {of_type}"
    for key in ("enum", "required"):
        shown = [repr(value) for value in schema.get(key, ())]
        yield from (((key, place), f"{text}: twice") for place, text in enumerate(shown) if text in shown[:place])
    unfit = [place for place, value in enumerate(schema.get("enum", ())) if not _is_of(kinds, value)]
    if unfit and len(unfit) == len(schema["enum"]):
        yield ("enum",), f"none of these is {of_type}"
    else:
        yield from ((("enum", place), f"{schema['enum'][place]!r} is not {of_type}") for place in unfit)
    own = {key: value for key, value in schema.items() if key in _HOLDS}
    for key in ("const", "default", "example"):
        if key in schema:
            yield from (((key,), text) for _, text in islice(body_faults(Definitions(), own, schema[key]), 1))


def _is_of(kinds: list[Any], value: Any) -> bool:
    return not kinds or any(fits_kind(kind, value) for kind in kinds)


def types_of_schema(schema: Mapping[str, Any]) -> list[Any]:
    kinds = schema.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


# With one of these a schema may know further properties, or is only a part of what is known of a value.
OPENING = frozenset({"ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "unevaluatedProperties"})
_PARTS = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas"})


def unnamed_members(schema: Any, path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any], str]]:
    """What objects require that their `properties` do not name, where these say all that is known of them.

    Each with its place, the object, and the name of the member.
    """
    if not isinstance(schema, Mapping):
        return
    known = _keyword_table(schema, "properties")
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if is_closed or (known and not OPENING & schema.keys() and not schema.get("additionalProperties")):
        required = schema.get("required", ())
        named = [("required", name) for name in (required if _are_names(required) else ())]
        for name, others in _keyword_table(schema, "dependentRequired").items():
            named += [("dependentRequired", each) for each in (name, *(others if _are_names(others) else ()))]
        yield from (((*path, key), schema, name) for key, name in named if name not in known)
    for at, inner in _schemas_inside(schema):
        if at[0] not in _PARTS:
            yield from unnamed_members(inner, (*path, *at))


def _keyword_table(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, Mapping) else {}


def _schemas_inside(schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Every schema in a schema; None where something else stands in the place of several."""
    for key in _ONE:
        if key in schema:
            yield (key,), schema[key]
    for key in _NAMED:
        named = schema.get(key, {})
        yield from (
            (((key, name), each) for name, each in named.items()) if isinstance(named, Mapping) else [((key,), None)]
        )
    for key in _LISTED:
        listed = schema.get(key, [])
        yield from (
            (((key, place), each) for place, each in enumerate(listed))
            if isinstance(listed, list)
            else [((key,), None)]
        )


def _type_findings(kinds: Any, path: Path) -> Findings:
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in TYPES:
            yield Finding(path, f"unknown type {kind!r}{did_you_mean(str(kind), TYPES)}")


def _leads_back(definitions: Definitions, start: str, follow: Callable[[Any], Iterator[str]]) -> bool:
    """Whether following schemas by what their tables name leads back to where it began."""
    seen, waiting = set[str](), [start]
    while waiting:
        for id in follow(_table_of(definitions, waiting.pop())):
            if id == start:
                return True
            if id not in seen:
                seen.add(id)
                waiting.append(id)
    return False


def _table_of(definitions: Definitions, id: str) -> Any:
    found = definitions.get(("schema", id))
    return found.table if found else {}


def _always_inside(schema: Any) -> Iterator[str]:
    """The schemas of which each value of this one holds one."""
    if not isinstance(schema, Mapping) or types_of_schema(schema) not in ([], ["object"], ["array"]):
        return
    members: Any = schema.get("properties", {})
    if not _is_usable(schema):
        return
    inner = [members.get(name) for name in schema.get("required", ())]
    if _is_count(schema.get("minItems")) and schema["minItems"]:
        inner.append(schema.get("items"))
    for part in (part for part in inner if isinstance(part, Mapping)):
        if isinstance(part.get("ref"), str):
            yield part["ref"]
        yield from _always_inside(part)


def endless_schemas(definitions: Definitions) -> set[str]:
    """The schemas from which what describes the same value goes round for ever: most definitions have none.

    Those that lead nowhere are taken away, then those that lead to these alone, until none is left that can be.
    """
    tables = {id: found.table for (kind, id), found in definitions.items() if kind == "schema"}
    leads = {id: tables.keys() & set(_same_value(table)) for id, table in tables.items()}
    comes: dict[str, list[str]] = {}
    for id, others in leads.items():
        for other in others:
            comes.setdefault(other, []).append(id)
    waiting = [id for id, others in leads.items() if not others]
    while waiting:
        ended = waiting.pop()
        del leads[ended]
        for id in comes.get(ended, ()):
            leads[id].discard(ended)
            if not leads[id]:
                waiting.append(id)
    return set(leads)


def _same_value(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("ref"), str):
            yield schema["ref"]
        for key in _SAME_VALUE:
            parts = schema.get(key, ())
            for part in parts if isinstance(parts, list) else ():
                yield from _same_value(part)


# What a converter makes of a text.
TYPE_OF_CONVERTED = {**dict.fromkeys(("text", "storage", "wiki", "markdown"), "string"), "adf": "object"}


def has_several(param: Mapping[str, Any]) -> bool:
    """Whether its value is a list."""
    return bool(param.get("multiple") or param.get("split"))


def is_taken_as_typed(definitions: Definitions, param: Mapping[str, Any]) -> bool:
    """Whether it has a look-up, and is what was typed wherever that has the form of an id."""
    lookup = definitions.get(("lookup", param.get("lookup", "")))
    is_changed_else = has_several(param) or not REWRITING.isdisjoint(param)
    return lookup is not None and "pattern" in lookup.table and not is_changed_else


WHOLE_CANDIDATE = "all of what its look-up found, which has no `value`: write which member of it"


def is_whole_candidate(definitions: Definitions, param: Mapping[str, Any]) -> bool:
    """Whether its look-up gives all of what a service says of a thing: a table, as it is compared by its members."""
    lookup = definitions.get(("lookup", param["lookup"])) if "lookup" in param else None
    if lookup is None or has_several(param) or not REWRITING.isdisjoint(param):
        return False
    is_called = "call" in lookup.table and not {"value", "pattern", "urls", "keywords", ON} & lookup.table.keys()
    return is_called and any(any(plain_paths(each)) for each in lookup.table.get("match", ()))


def is_changed(param: Mapping[str, Any]) -> bool:
    """Whether its values are others than those that are typed."""
    return "lookup" in param or not REWRITING.isdisjoint(param)


def written_values(value: Any, params: Params) -> Sequence[Any]:
    """What a value can be, as far as it is written out: itself, or what stands in the one placeholder that it is.

    Of those of `params` that can be chosen.
    """
    if not _has_placeholders(value):
        return (value,)
    try:
        parts = compile_template(value) if isinstance(value, str) else ()
    except TemplateError:
        return ()
    if not (len(parts) == 1 and value[:1] == "{" and value[-1:] == "}"):
        return ()
    named = {name: params[name] for name in root_names(value[1:-1]) if name in params}
    words = {name: param["choices"] for name, param in named.items() if "choices" in param and not is_changed(param)}
    return [each for each in written_results(value[1:-1], words) if each is not None]


def _has_placeholders(value: Any) -> bool:
    """Whether a value has placeholders; one that is broken counts as none of this check's business."""
    try:
        return any(map(expressions_in_text, texts_in(value)))
    except TemplateError:
        return True
