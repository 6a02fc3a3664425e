"""Whether the arguments and options of commands can be used as they are described."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...durations import parse_typed_duration
from ...errors import did_you_mean
from ...registry import JOURNAL, OPTIONS, PAGING, REGISTRIES
from ..parameters import to_identifier
from ..source_file import Definition, Definitions, Path
from .links import RESERVED
from .problem import Finding, Findings

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, InputDefinition, Param

_PAGING = "paging"


def param_findings(definitions: Definitions, definition: Definition, *, usual: Mapping[str, Param]) -> Findings:
    """`usual` is what `paging_options` gives."""
    del definitions
    table = definition.table
    for key in ("params", "options", _PAGING, "journal"):
        for place, param in enumerate(table.get(key, ())):
            yield from (Finding((key, place, *path), text) for path, text in _default(param))
            for name in (param["name"], *param.get("aliases", ())):
                is_one_word = " " not in name and not name.startswith("-")  # else that is told
                if is_one_word and not to_identifier(name).isidentifier():
                    yield Finding((key, place), f"{name!r} cannot be a name: letters, digits, - and _ only")
            for part in ("refuse", "step"):
                if part in param and (key != "params" or "builtin" in table):
                    yield Finding((key, place, part), "only commands that call something have rules and steps")
    for key, known in (("options", OPTIONS), (_PAGING, PAGING), ("journal", JOURNAL)):
        yield from _read_by_the_engine(table.get(key, ()), key, known)
    if definition.kind == "command" and "builtin" not in table:
        yield from _names(table)
        yield from _paging(table, usual)


def input_findings(_: Definitions, definition: Definition) -> Findings:
    yield from (Finding(path, text) for path, text in _default(definition.table))


def _default(param: Param | InputDefinition) -> Iterator[tuple[Path, str]]:
    if not param.get("choices", True):
        yield ("choices",), "expected at least one value"
    folded = [word.strip().casefold() for word in param.get("choices", ())]
    for place, word in enumerate(folded):
        if not word or word in folded[:place]:
            said = "is the same word as an earlier one" if word else "no word can be empty"
            yield ("choices", place), f"{param['choices'][place]!r}: {said}"
    if "default" not in param or param.get("kind") == "flag":
        return
    given = param["default"]
    if bool(param.get("multiple")) != isinstance(given, list):
        yield (
            ("default",),
            "expected a list, as for `multiple`" if param.get("multiple") else "expected one value, not a list",
        )
        return
    for value in given if isinstance(given, list) else [given]:
        if problem := misfit(param, value):
            yield ("default",), problem


def misfit(param: Param | InputDefinition, value: Any) -> str | None:
    """Why a value cannot be that of a parameter, or None."""
    kind = param.get("type", "text")
    words = REGISTRIES.get(param["choices_of"], {}) if "choices_of" in param else param.get("choices")
    if not _is(kind, value):
        return f"expected {_A[kind]}, not {value!r}"
    if words is not None and value not in words:
        return f"{value!r} is not one of the choices{did_you_mean(str(value), words)}"
    return None


_A = {
    "text": "a text",
    "path": "a text",
    "integer": "a whole number",
    "number": "a number",
    "duration": "a duration, such as 90s or 15m",
}


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if kind == "duration":
        return isinstance(value, int | float) or (isinstance(value, str) and parse_typed_duration(value) is not None)
    return isinstance(value, {"integer": int, "number": int | float}.get(kind, str))


def _read_by_the_engine(params: Any, key: str, known: Mapping[str, str]) -> Findings:
    """What the engine reads, of the type that it reads."""
    for place, param in enumerate(params):
        wanted = known.get(param["name"])
        given = "flag" if param.get("kind") == "flag" else param.get("type", "text")
        if wanted is not None and (given != wanted or param.get("multiple")):
            yield Finding((key, place), f"the engine reads {param['name']!r} as one {wanted}, not as {given}")


def _names(table: CommandDefinition) -> Findings:
    for place, param in enumerate(table.get("params", ())):
        own = to_identifier(param["name"])
        if own in RESERVED:
            yield Finding(("params", place), f"expressions see something else as {own!r}: give it another name")


def paging_options(definitions: Definitions) -> dict[str, Param]:
    """The options of lists, by name."""
    return {
        param["name"]: param
        for (kind, _), definition in definitions.items()
        if kind == "program"
        for param in definition.table.get(_PAGING, ())
    }


def _paging(table: CommandDefinition, usual: Mapping[str, Param]) -> Findings:
    """An own option in the place of one of those of lists is read as that one is."""
    for place, param in enumerate(table.get("params", ())):
        model = usual.get(param["name"])
        if model is None:
            continue
        for key, default in (("kind", "option"), ("type", "text"), ("multiple", False)):
            if param.get(key, default) != model.get(key, default):
                text = (
                    f"lists have an option {param['name']!r}, with {key} {model.get(key, default)!r}: say the same here"
                )
                yield Finding(("params", place), text)
