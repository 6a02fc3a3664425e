"""Whether commands call operations soundly: what each call gives, the bodies that are sent, and what can be reached."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from operator import gt, lt
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import did_you_mean, slip_of
from ...registry import EDITED
from ..conditions import written_results
from ..merge import ON, deployment_variants
from ..parameters import to_identifier
from ..problem import Finding, Findings
from ..safety import Safety, class_of_operation, is_milder, worst_safety
from ..scopes import root_names
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, compile_template, expressions_in_text, texts_in
from .operations import argument_misfit
from .references import PYTHON_TYPES, pattern_fault, shape_places

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param
    from ..shape.rest import OperationDefinition, OperationParam
    from ..shape.steps import Action, Edit, StepDefinition


# Whether what a command sends as a body can be what the operation documents, as far as it is written out.


Params = Mapping[str, Any]  # by the names that expressions have for them

_NO_PARAMS: Params = {}
# Their values are not as they are typed.
_CHANGED = ("lookup", "convert", "assign", "members", "removes", "excludes")
_SAMPLES: dict[str, Any] = {"integer": 1, "number": 0.5, "text": "a", "path": "a"}


def body_example_findings(definitions: Definitions, operation: Definition) -> Findings:
    """A body that is shown as one that could be meant, and could not."""
    for at, here in ((), operation.table), *(((ON, word), each) for word, each in operation.table.get(ON, {}).items()):
        body = here.get("body", {})
        if "example" in body and "schema" in body:
            faults = body_faults(definitions, {"ref": body["schema"]}, body["example"])
            yield from (Finding((*at, "body", "example", *path), text) for path, text in faults)


def body_faults(
    definitions: Definitions, schema: Any, body: Any, path: Path = (), *, params: Params = _NO_PARAMS
) -> Iterator[tuple[Path, str]]:
    """What is wrong wherever no placeholder stands; where a schema gives several forms, nothing is judged.

    Of placeholders only those are judged that take one parameter as it was typed.
    """
    schema = resolved_schema(definitions, schema)
    kinds = types_of_schema(schema)
    if not schema or _is_filled(body):
        param = params.get(body[1:-1].strip()) if isinstance(body, str) else None
        if param is not None and schema:
            yield from islice(_param_faults(definitions, schema, param, path), 1)
        elif schema and isinstance(body, str):
            written = (body_faults(definitions, schema, each, path) for each in written_values(body, params))
            yield from islice(chain.from_iterable(written), 1)
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
    lookup = definitions.get(("lookup", param.get("lookup", "")))
    is_typed = lookup is not None and "pattern" in lookup.table and not (param.get("multiple") or param.get("split"))
    if is_typed and kinds and not {"string", "object"} & {*kinds}:
        name = to_identifier(param["name"])
        near = f": write to_number({name})" if {"integer", "number"} & {*kinds} else ""
        near = f": write [{name}]" if kinds == ["array"] else near
        yield path, f"expected {' or '.join(kinds)}, and what is typed for {param['name']!r} is a text{near}"
    if _is_changed(param):
        return
    if param.get("multiple") or param.get("split"):
        if kinds and "array" not in kinds:
            yield path, f"expected {' or '.join(kinds)}, and {param['name']!r} is a list of values"
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


def resolved_schema(definitions: Definitions, schema: Any) -> Mapping[str, Any]:
    """The schema that a reference stands for; nothing where it has alternatives."""
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(schema.get("ref"), str) and schema["ref"] not in seen:
        seen.add(schema["ref"])
        found = definitions.get(("schema", schema["ref"]))
        schema = found.table if found else {}
    if not isinstance(schema, Mapping) or {"anyOf", "oneOf", "allOf", "if", "not"} & schema.keys():
        return {}
    return schema


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
_KEYWORDS = (*_HOLDS, *_ONE, *_LISTED, *_NAMED)


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
    if definition.id in endless and _is_circular(definitions, definition.id):
        yield Finding((), "refers back to itself without an object or a list between")


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
        if key not in _KEYWORDS:
            yield Finding((*path, key), f"not a keyword of JSON Schema{did_you_mean(key, _KEYWORDS)}")
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
    for key in _SAME_VALUE:
        if schema.get(key) == []:
            yield Finding((*path, key), "expected at least one schema")
    yield from (Finding((*path, *keys), text) for keys, text in unfit_keywords(schema))


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
_OPENING = frozenset({"ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "unevaluatedProperties"})
_PARTS = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas"})


def unnamed_members(schema: Any, path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any], str]]:
    """What objects require that their `properties` do not name, where these say all that is known of them.

    Each with its place, the object, and the name of the member.
    """
    if not isinstance(schema, Mapping):
        return
    known = _keyword_table(schema, "properties")
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if is_closed or (known and not _OPENING & schema.keys() and not schema.get("additionalProperties")):
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


def _is_circular(definitions: Definitions, start: str) -> bool:
    """Whether following what describes the same value leads back to where it began."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        found = definitions.get(("schema", waiting.pop()))
        for id in _same_value(found.table) if found else ():
            if id == start:
                return True
            if id not in seen:
                seen.add(id)
                waiting.append(id)
    return False


def _same_value(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("ref"), str):
            yield schema["ref"]
        for key in _SAME_VALUE:
            parts = schema.get(key, ())
            for part in parts if isinstance(parts, list) else ():
                yield from _same_value(part)


# Whether the constants of steps can be what the step makes of them.


Problems = Iterator[tuple[Any, ...]]  # as in a `Finding`


def format_problems(edit: Edit, at: Path) -> Problems:
    name = edit["format"]
    if "{" not in name and name not in EDITED:
        yield (*at, "format"), f"no rich-text format {name!r}{did_you_mean(name, EDITED)}"


def value_problems(step: Action, at: Path) -> Problems:
    """How much is read, what is laid over the body, which files are sent."""
    limit = step.get("limit", 1)
    if not _is_template(limit) and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        yield (*at, "limit"), f"expected a whole number of at least 1, not {limit!r}"
    for place, layer in enumerate(step.get("over", ())):
        if not _is_template(layer) and not isinstance(layer, dict):
            yield (*at, "over", place), f"expected a table, not {layer!r}"
    files: Any = step.get("files", [])
    for file in files if isinstance(files, list) else [files]:
        if not isinstance(file, str):
            yield (*at, "files"), f"expected a path or a list of paths, not {file!r}"


def _is_template(value: Any) -> bool:
    return isinstance(value, str) and "{" in value


# Whether a call gives its operation what it needs, and nothing that it does not take.


Names = set[str]
_WORDS = ("DEMO", "A-1", "abc", "x")
_FEW = 6  # members that are named in an error


class CallChecker:
    """`applies` tells for which deployments what is checked here holds."""

    sends_fields = True  # a call without a body gets one, of the fields of a thing

    def __init__(self, definitions: Definitions, operations: Mapping[str, str], applies: Callable[[str], bool]) -> None:
        self.definitions = definitions
        self.operations = operations
        self.applies = applies
        self.lists: frozenset[str] = frozenset()  # names of answers that are lists
        self.may_lack: frozenset[str] = frozenset()  # names of answers of steps that are not always taken
        self.params: dict[str, Param] = {}  # those of the command, by the names that expressions have for them

    def table_of(self, kind: str, id: str) -> Any:
        """The table of a definition, of the shape of its kind; None where there is no such definition."""
        found = self.definitions.get((kind, self.operations.get(id, id) if kind == "operation" else id))
        return found.table if found else None

    def argument_problems(self, calling: Any, at: Path) -> Problems:
        """What anything with a `call` gives its operation: nothing it does not take, everything it must have."""
        step: Action = calling
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if operation is None:
            return
        about = (("operation", self.operations.get(step["call"], step["call"])),)
        given = step.get("args", {})
        known = dict.fromkeys(
            name for here in (operation, *deployment_variants(operation).values()) for name in _taken_parameters(here)
        )
        for name in given:
            if name not in known:
                yield (*at, "args", name), f"{step['call']} does not take it{did_you_mean(name, known)}", about
        yield from self._value_problems(operation, step, at)
        bodies = [here.get("body") for here in self._deployment_variants(operation) if not here.get("unavailable")]
        for key in ("body", "over", "files"):
            if key in step and bodies and all(body is None for body in bodies):
                yield (*at, key), f"{step['call']} takes no body", about
        if "files" in step and any(bodies) and all("schema" in body for body in bodies if body):  # JSON
            yield (*at, "files"), f"{step['call']} takes no files", about
        for key in ("body", "over"):
            yield from self._member_problems(step, key, at)
        # What is wrong on each deployment that has it: where only one takes it, the others never get it.
        judged = [list(self._body_problems(step, body, at)) for body in bodies if body and body.get("schema")]
        if judged and all(judged):
            yield from judged[0]
        for here in self._deployment_variants(operation):
            missing = [name for name, required in _taken_parameters(here).items() if required and name not in given]
            if missing and not here.get("unavailable"):
                yield (*at, "call"), f"{step['call']} requires {', '.join(missing)} in args", about

    def _body_problems(self, step: Action, body: Mapping[str, Any], at: Path) -> Problems:
        schema = {"ref": body["schema"]}
        given: list[tuple[Path, Any]] = [(("body",), step["body"])] if "body" in step else []
        given += [(("over", place), each) for place, each in enumerate(step.get("over", ())) if isinstance(each, dict)]
        for where, value in given:
            faults = body_faults(self.definitions, schema, value, params=self.params)
            yield from (((*at, *where, *path), text) for path, text in faults)
        if {"over", "files", "edit"} & step.keys():
            return
        given_members: Any = step.get("body", {})
        if "body" in step or not (self.sends_fields or body.get("optional")):
            needed = resolved_schema(self.definitions, schema).get("required", ())
            lacking = [name for name in needed if isinstance(given_members, dict) and name not in given_members]
            if not lacking and isinstance(given_members, dict):
                yield from self._unknown_members(step, resolved_schema(self.definitions, schema), given_members, at)
            if lacking:
                yield (*at, *(("body",) if "body" in step else ())), f"{step['call']} needs {', '.join(lacking)}"

    def _unknown_members(self, step: Action, schema: Mapping[str, Any], body: Mapping[str, Any], at: Path) -> Problems:
        """A schema may not say all, but it hardly says nothing of what is sent."""
        known = schema.get("properties", {})
        is_open = bool({*_OPENING, "additionalProperties"} & schema.keys())
        if known and body and not known.keys() & body.keys() and not is_open:
            some = ", ".join(list(known)[:_FEW])
            yield (*at, "body"), f"{step['call']} documents none of {', '.join(body)}: it takes {some}"

    def _member_problems(self, step: Action, key: str, at: Path) -> Problems:
        """A parameter for any member of a body, given to another operation than the one whose members it has."""
        given: Any = step.get(key, [])
        for value in given if isinstance(given, list) else [given]:
            param = self.params.get(value[1:-1].strip()) if isinstance(value, str) and value[:1] == "{" else None
            of = param.get("members") if param else None
            if of and self.operations.get(of, of) != self.operations.get(step["call"], step["call"]):
                yield (*at, key), f"{value}: its values are members of {of}, and not of {step['call']}"

    def amount_problems(self, step: Action, at: Path) -> Problems:
        """So many items can only be read of a list that comes in pages."""
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if "limit" in step and operation is not None:
            paged = any(here.get("paginate") for here in (operation, *deployment_variants(operation).values()))
            if not paged:
                about = (("operation", self.operations.get(step["call"], step["call"])),)
                yield (*at, "limit"), f"{step['call']} has no pages", about

    def answer_problems(self, step: Action, at: Path) -> Problems:
        """What is taken out of an answer, of a call that answers nothing."""
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if operation is not None and operation.get("reply") == "none":
            for key in ("save", "hold", "value"):
                if key in step:
                    text = f"{step['call']} answers nothing"
                    yield (*at, key), text, (("operation", self.operations.get(step["call"], step["call"])),)

    def _value_problems(self, operation: OperationDefinition, step: Mapping[str, Any], at: Path) -> Problems:
        """Constants, and the choices of a parameter that is handed on, against what the operation documents."""
        given = step.get("args", {})
        here = next(iter(self._deployment_variants(operation)), operation)
        params: dict[str, OperationParam] = {name: {"name": name, "in": "path"} for name in _in_path(here)}
        params |= {param["name"]: param for param in here.get("params", ()) if not param.get("remove")}
        for name, value in given.items():
            if name not in params:
                continue
            param = self.params.get(value[1:-1].strip()) if isinstance(value, str) and value[:1] == "{" else None
            if param and params[name].get("in") == "path" and "step" not in at and _can_be_missing(param):
                yield (*at, "args", name), f"cannot be left out, and {param['name']!r} can: say `required = true` of it"
            if params[name].get("required", params[name].get("in") == "path") and "when" not in step:
                lacking = self.may_lack.intersection(root_names(value[1:-1])) if _is_one_path(value) else ()
                for each in sorted(lacking):
                    text = (
                        f"cannot be left out, and {each!r} is there only where its step is taken: say the same `when`"
                    )
                    yield (*at, "args", name), text
            is_list = _is_list(param) if param else isinstance(value, str) and value[1:-1].strip() in self.lists
            if is_list and params[name].get("type", "string") not in ("array", "object"):
                said = param["name"] if param else value[1:-1].strip()
                yield (*at, "args", name), f"takes one value, and {said!r} is a list of values"
                continue
            if param and params[name].get("type") in ("integer", "number") and self._takes_words(param):
                text = f"expected a number, and {param['lookup']!r} takes words for {param['name']!r} as they are"
                yield (*at, "args", name), text
                continue
            for each in (_sent_words(param) if param else ()) or written_values(value, self.params):
                if fault := argument_misfit(params[name], each):
                    yield (*at, "args", name), fault
                    break

    def _takes_words(self, param: Param) -> bool:
        """Whether its look-up takes what is typed as it stands, and that may be something else than a number."""
        pattern = (self.table_of("lookup", param.get("lookup", "")) or {}).get("pattern", "")
        return pattern_fault(pattern) is None and any(re.fullmatch(pattern, word) for word in _WORDS)

    def _deployment_variants(self, operation: OperationDefinition) -> Iterator[OperationDefinition]:
        """The operation as it is on each deployment that matters here; as it is elsewhere for those not named."""
        there = deployment_variants(operation)
        if self.applies("") or not any(self.applies(word) for word in there):
            yield operation
        yield from (table for word, table in there.items() if self.applies(word))


def answers_list(definitions: Definitions, step: Mapping[str, Any]) -> bool:
    """Whether what a step names is a list on every deployment: the items of a call that comes in pages."""
    called = definitions.get(("operation", str(step.get("call"))))
    if called is None or not isinstance(step.get("as"), str) or {"value", "batch"} & step.keys():
        return False
    there = [called.table, *deployment_variants(called.table).values()]
    return all(here.get("paginate") or here.get("unavailable") for here in there)


def _is_one_path(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\{\w+(?:\.\w+)*\}", value) is not None


def _can_be_missing(param: Param) -> bool:
    if param.get("required", param.get("kind") == "argument"):
        return False
    return not {"default", "setting", "ask", "refuse"} & param.keys() and param.get("kind") != "flag"


def _is_list(param: Param) -> bool:
    return bool(param.get("multiple") or param.get("split")) and not _is_changed(param)


def _is_changed(param: Param) -> bool:
    """Whether its values are others than those that are typed."""
    return any(key in param for key in _CHANGED)


def _sent_words(param: Param) -> list[Any]:
    """What can be sent of a parameter, as far as it is written out."""
    if _is_changed(param):
        return []
    words = [*param.get("choices", [True] if param.get("kind") == "flag" else [])]
    default: Any = param.get("default", [])
    return [*words, *(default if isinstance(default, list) else [default])]


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
    whole = len(parts) == 1 and value[:1] == "{" and value[-1:] == "}"
    words = {name: param["choices"] for name, param in params.items() if "choices" in param and not _is_changed(param)}
    return [each for each in written_results(value[1:-1], words) if each is not None] if whole else ()


def _has_placeholders(value: Any) -> bool:
    """Whether a value has placeholders; one that is broken counts as none of this check's business."""
    try:
        return any(map(expressions_in_text, texts_in(value)))
    except TemplateError:
        return True


def _taken_parameters(operation: OperationDefinition) -> dict[str, bool]:
    """Name → required, path parameters and the parts of a form included."""
    known: dict[str, bool] = dict.fromkeys(operation.get("body", {}).get("parts", {}), False)
    for param in operation.get("params", ()):
        if param.get("in") != "path" and not param.get("remove"):
            known[param["name"]] = bool(param.get("required"))
    return known | dict.fromkeys(_in_path(operation), True)


def _in_path(operation: OperationDefinition) -> list[str]:
    """The parameters in the path, which are texts unless more is said of them."""
    path = str(operation["http"]).partition(" ")[2]
    return [piece.partition("}")[0] for piece in path.split("{")[1:]]


# Which operations a command can reach, and so how bad it is.


# What may call something in its turn; a reference to anything else leads to no call of this command's.
_ON_THE_WAY = ("operation", "lookup", "assignment")


class Reached(NamedTuple):
    """An operation, and where in the command's table the way to it begins."""

    path: Path
    operation: str


def operations_reached(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Iterator[Reached]:
    """Every operation that a command can call on any deployment: steps, look-ups, what a conflict asks."""
    for path, kind, id in _references_of(command):
        yield from (Reached(path, each) for each in _operations_of(definitions, kind, id, aliases, frozenset()))


def _references_of(definition: Definition) -> list[tuple[Path, str, str]]:
    """Looked for once: whoever has changed a table since then asks of another definition."""
    if definition.references is None:
        definition.references = [
            (place.path, kind, place.value)
            for place in shape_places(definition.kind, definition.table, ("reference", _ON_THE_WAY))
            if (kind := place.schema.get("reference")) in _ON_THE_WAY and isinstance(place.value, str)
        ]
    return definition.references


def _operations_of(
    definitions: Definitions, kind: str, id: str, aliases: Mapping[str, str], seen: frozenset[tuple[str, str]]
) -> Iterator[str]:
    if kind == "operation":
        yield aliases.get(id, id)
        return
    found = definitions.get((kind, id))
    if found is not None and (kind, id) not in seen:
        for _, inner, name in _references_of(found):
            yield from _operations_of(definitions, inner, name, aliases, seen | {(kind, id)})


def class_of_command(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Safety:
    """What its definition says, or the worst class of all operations that it can reach, whichever is worse."""
    calls = (each.operation for each in operations_reached(definitions, command, aliases))
    classes = [
        class_of_operation(definitions["operation", id].table) for id in calls if ("operation", id) in definitions
    ]
    said: Safety | None = command.table.get("safety")
    return worst_safety([*classes, *([said] if said else [])])


def safety_findings(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Findings:
    """A class that is milder than what the command does; what destroys without asking."""
    said: Safety | None = command.table.get("safety")
    for path, id in operations_reached(definitions, command, aliases):
        operation = definitions.get(("operation", id))
        if operation is None:
            continue
        its = class_of_operation(operation.table)
        if said and is_milder(said, its):
            way = ".".join(map(str, path))
            text = f"{said!r} is milder than what {way} does: {id} is {its!r}"
            yield Finding(("safety",), text, (("operation", id),))
            return
        if its == "destroy" and not _asks_before(command.table, path):
            asked = any("confirm" in step for step in command.table.get("step", ()))
            beside = ", beside the question of its step" if asked else ""
            text = f"a command that destroys needs 'confirm'{beside} ({id} destroys)"
            yield Finding((), text, (("operation", id),))
            return
    if said == "destroy" and not _asks_at_all(command.table) and "builtin" not in command.table:
        yield Finding((), "a command that destroys needs 'confirm'")


def _asks_before(command: CommandDefinition, path: Path) -> bool:
    """Whether a person is asked before the call at `path`, whatever was given: by the command, or by a plan."""
    if "confirm" in command:
        return True
    here = deployment_variants(command)[str(path[1])] if path[:1] == (ON,) else command
    path = path[2:] if path[:1] == (ON,) else path
    if path[:1] != ("step",) or not isinstance(path[1], int):
        return False
    steps = here["step"][: path[1] + 1]
    return _has_plan(steps[-1]) or any(_has_plan(step) and "when" not in step for step in steps)


def _asks_at_all(command: CommandDefinition) -> bool:
    return "confirm" in command or any(_has_plan(step) for step in command.get("step", ()))


def _has_plan(step: StepDefinition) -> bool:
    """Whether it asks each time that it is taken."""
    plan = step.get("each", {}).get("plan")
    return plan is not None and "when" not in plan


_ASKED_BESIDE = {
    "lookup": "a look-up",
    "naming": "a naming",
    "snapshot": "a snapshot",
    "product": "a question about a product",
    "program": "a mention",
    "part": "a part of what a command shows",
}


def reading_findings(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Findings:
    """What is asked beside a command's own calls, and counts for the class of none, only reads."""
    probe = definition.table.get("probe") if definition.kind == "product" else None
    if probe and "call" in probe:
        checker = CallChecker(definitions, operations, lambda _: True)
        yield from (Finding(*found) for found in checker.argument_problems(probe, ("probe",)))
    for path, kind, id in _references_of(definition):
        for called in _operations_of(definitions, kind, id, operations, frozenset()):
            operation = definitions.get(("operation", called))
            if (
                operation is not None
                and class_of_operation(operation.table) != "read"
                and not {"undo", "suggest"} & {*path}
            ):
                text = f"{_ASKED_BESIDE[definition.kind]} only reads: {called} does not"
                yield Finding(path, text, (("operation", called),))
            elif operation is not None and operation.table.get("reply") == "none" and not {"undo", "suggest"} & {*path}:
                yield Finding(path, f"{called} answers nothing", (("operation", called),))
