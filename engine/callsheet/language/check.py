"""Whether definitions are what the language allows: shapes, references, expressions, the tree of commands.

Raises one `DefinitionError` that names every problem with file, line, key path and the closest right word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from ..errors import DefinitionError, did_you_mean
from .checks.addresses import address_problems
from .checks.commands import Problems, command_problems, lookup_problems
from .checks.operations import operation_problems, schema_problems
from .checks.tree import default_problems, option_problems, place_problems
from .load import Definition, Definitions, text_of
from .locate import Path, line_of, path_in
from .shape import KINDS
from .template import TemplateError, compile_expression, expressions


class Problem(NamedTuple):
    definition: Definition
    path: Path
    text: str


def check(
    definitions: Definitions, aliases: Mapping[str, Mapping[str, str]], registries: Mapping[str, set[str]]
) -> None:
    """Raise `DefinitionError` unless every definition is sound.

    `aliases` holds further ids that references may use, and what they stand for, by kind; `registries` the names
    of the engine's own functions that definitions may mention.
    """
    problems = [problem for definition in definitions.values() for problem in _shape_problems(definition)]
    if not problems:
        known = _known_ids(definitions, aliases) | {f"engine:{name}": names for name, names in registries.items()}
        for definition in definitions.values():
            problems.extend(_link_problems(definition, known))
        problems.extend(_further_problems(definitions, aliases.get("operation", {})))
    if problems:
        details = sorted({_word(problem) for problem in problems}, key=_by_line)
        count = len(details)
        raise DefinitionError(f"{count} problem{'s'[: count > 1]} in definitions", details=details)


def _known_ids(definitions: Definitions, aliases: Mapping[str, Mapping[str, str]]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {kind: set(aliases.get(kind, ())) for kind in KINDS}
    for kind, id in definitions:
        known[kind].add(id)
    return known


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])


@cache
def kind_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind."""
    return _adapter(kind).json_schema()


def _shape_problems(definition: Definition) -> Iterator[Problem]:
    if definition.kind not in KINDS:
        yield Problem(definition, (), f"unknown kind {definition.kind!r}{did_you_mean(definition.kind, KINDS)}")
        return
    try:
        _adapter(definition.kind).validate_python(definition.table)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            yield Problem(definition, item["loc"], _expected(definition, item["loc"], dict(item)))


def _expected(definition: Definition, path: Path, item: dict[str, Any]) -> str:
    if item["type"] == "extra_forbidden":
        return f"unknown key{did_you_mean(str(path[-1]), _allowed_keys(definition.kind, path[:-1]))}"
    if item["type"] == "missing":
        return "required key is missing"
    if item["type"] == "literal_error":
        return f"unknown value {item['input']!r}, expected one of {item['ctx']['expected']}"
    given = f" (given: {item['input']!r})" if isinstance(item["input"], str | int | float) else ""
    return f"{item['msg'][:1].lower()}{item['msg'][1:]}{given}"


def _allowed_keys(kind: str, path: Path) -> list[str]:
    schema = kind_schema(kind)
    node = schema
    for key in path:
        node = _child(schema, node, key)
    return list(_resolve(schema, node).get("properties", ()))


def _resolve(root: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is None:
        return node
    return {**root["$defs"][reference.rpartition("/")[2]], **{key: node[key] for key in node if key != "$ref"}}


def _child(root: dict[str, Any], node: dict[str, Any], key: str | int) -> dict[str, Any]:
    node = _resolve(root, node)
    if isinstance(key, int):
        found = node.get("items")
    else:
        found = node.get("properties", {}).get(key) or node.get("additionalProperties")
    return found if isinstance(found, dict) else {}


def _link_problems(definition: Definition, known: dict[str, set[str]]) -> Iterator[Problem]:
    schema = kind_schema(definition.kind)
    for path, value, node in _walk(schema, schema, definition.table, ()):
        target = node.get("reference")
        if target and value not in known.get(target, ()):
            what = target.removeprefix("engine:")
            yield Problem(definition, path, f"no {what} {value!r}{did_you_mean(value, known.get(target, ()))}")
        form = node.get("format")
        if form in _FORMS and isinstance(value, str):
            yield from (Problem(definition, path, text) for text in _FORMS[form](value))


def _walk(
    root: dict[str, Any], node: dict[str, Any], value: Any, path: Path
) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
    """Every text in a table together with the schema of its place."""
    node = _resolve(root, node)
    if isinstance(value, dict):
        for key, item in value.items():
            below = node if node.get("format") == "value" else _child(root, node, key)
            yield from _walk(root, below, item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            below = node if node.get("format") == "value" else _child(root, node, index)
            yield from _walk(root, below, item, (*path, index))
    elif isinstance(value, str):
        yield path, value, node


def _expression_problems(text: str) -> list[str]:
    try:
        compile_expression(text)
    except TemplateError as error:
        return [f"not an expression: {error}"]
    return []


def _template_problems(text: str) -> list[str]:
    try:
        return [problem for expression in expressions(text) for problem in _expression_problems(expression)]
    except TemplateError as error:
        return [str(error)]


_FORMS: dict[str, Callable[[str], list[str]]] = {
    "jmespath": _expression_problems,
    "template": _template_problems,
    "value": _template_problems,
}


def _further_problems(definitions: Definitions, operations: Mapping[str, str]) -> Iterator[Problem]:
    """What takes more than a shape to say, by kind."""
    checks: dict[str, tuple[Callable[..., Problems], ...]] = {
        "command": (place_problems, option_problems, partial(command_problems, operations=operations)),
        "group": (place_problems, default_problems),
        "program": (option_problems,),
        "lookup": (partial(lookup_problems, operations=operations),),
        "operation": (operation_problems, address_problems),
        **dict.fromkeys(("product", "service", "deployment", "auth"), (address_problems,)),
        "schema": (schema_problems,),
    }
    for (kind, _), definition in definitions.items():
        for find in checks.get(kind, ()):
            yield from (Problem(definition, path, text) for path, text in find(definitions, definition))


def _word(problem: Problem) -> str:
    """`file:line: kind "id": key.path: text`."""
    definition = problem.definition
    path, line = _where(definition, problem.path)
    key = ".".join(map(str, problem.path))
    return f'{path}:{line}: {definition.kind} "{definition.id}": {key + ": " if key else ""}{problem.text}'


def _where(definition: Definition, path: Path) -> tuple[str, int]:
    """The last file that says something at `path`, or at the nearest key above it, and the line there."""
    for length in range(len(path), -1, -1):
        for file in reversed(definition.files):
            table = file.tables.get(definition.kind, {}).get(definition.id, {})
            here = path_in(table, definition.table, path[:length])
            if here is not None:
                return file.path, line_of(text_of(file.path), (definition.kind, definition.id, *here))
    return definition.files[-1].path, 1


def _by_line(text: str) -> tuple[str, int, str]:
    path, _, rest = text.partition(".toml:")
    line = rest.partition(":")[0]
    return path, int(line) if line.isdigit() else 0, rest
