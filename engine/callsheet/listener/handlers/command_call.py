"""What a `command` handler calls: which words choose the command, and which value each of its parameters gets.

Values are bound to parameters when the routes are read. So nothing that an event brings is ever looked at as a command
line: a value cannot become an option, a file, or another command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...catalog.catalog import open_catalog
from ...errors import DefinitionError, did_you_mean
from ...language.template import compile_template, fill

if TYPE_CHECKING:
    from ...language.shape.commands import Param


class CommandCall(NamedTuple):
    """`values` are templates by parameter; `typed` names those that hold nothing out of an event."""

    program: str
    prefix: str
    words: list[str]
    values: dict[str, Any]
    typed: frozenset[str]

    def fill(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        return fill(self.values, scope) or {}


def command_call(program: str, run: str | Sequence[str], values: Mapping[str, Any], environ: Any) -> CommandCall:
    """Raises `UsageError` or `DefinitionError`, with the closest match, for what the program does not have."""
    words_given = run.split() if isinstance(run, str) else [*run]
    catalog = open_catalog(program, environ)
    try:
        definition = catalog.get("program", program)
        shared: list[Param] = definition.get("options", [])
        words, rest = _command_words(words_given, set(catalog.ids("command")), shared)
        command = catalog.get("command", " ".join(words))
    finally:
        catalog.close()
    own: list[Param] = command.get("params", [])
    params = {str(param["name"]): param for param in [*shared, *own]}
    templates = {**_bind_words(rest, params, own), **values}
    for name in templates:
        if name not in params:
            raise DefinitionError(
                f"handler 'command': {' '.join(words)} has no parameter {name!r}{did_you_mean(name, params)}"
            )
    typed = frozenset(name for name, value in templates.items() if not is_template(value))
    return CommandCall(program, definition["prefix"], words, templates, typed)


def is_template(value: Any) -> bool:
    """Whether anything in a template comes from an event."""
    if isinstance(value, str):
        return any(not isinstance(part, str) for part in compile_template(value))
    if isinstance(value, Mapping):
        return any(is_template(item) for item in value.values())
    return isinstance(value, list) and any(is_template(item) for item in value)


def _command_words(words_given: list[str], commands: set[str], shared: Sequence[Param]) -> tuple[list[str], list[str]]:
    """The words of the command, and what stands around them; options of the program may stand before them."""
    params = {str(param["name"]): param for param in shared}
    before = 0
    while before < len(words_given) and words_given[before].startswith("-") and words_given[before] != "--":
        name, sign, _ = _split_option(words_given[before], params)
        before += 1 if sign or params[name].get("kind") == "flag" else 2
    for end in range(len(words_given), before, -1):
        if " ".join(words_given[before:end]) in commands:
            return words_given[before:end], words_given[:before] + words_given[end:]
    words = [word for word in words_given[before:] if not word.startswith("-")][:3]
    near = did_you_mean(" ".join(words), commands)
    raise DefinitionError(f"handler 'command': run: {' '.join(words_given)!r} names no command{near}")


def _bind_words(words: list[str], params: Mapping[str, Param], own: Sequence[Param]) -> dict[str, Any]:
    """Templates by parameter, out of a list of words as a command line has them."""
    values: dict[str, Any] = {}
    positional: list[str] = []
    position = iter(words)
    for word in position:
        if word == "--":
            positional += position
        elif word.startswith("-") and word != "-":
            name, value = _option(word, position, params)
            if params[name].get("multiple"):
                values.setdefault(name, []).append(value)
            else:
                values[name] = value
        else:
            positional.append(word)
    return values | _arguments(positional, [param for param in own if param.get("kind") == "argument"])


def _option(word: str, following: Iterator[str], params: Mapping[str, Param]) -> tuple[str, Any]:
    name, sign, value = _split_option(word, params)
    if params[name].get("kind") == "flag":
        return name, True
    if not sign and (value := next(following, "")) == "":
        raise DefinitionError(f"handler 'command': run: {word} needs a value")
    return name, value


def _split_option(word: str, params: Mapping[str, Param]) -> tuple[str, str, str]:
    """`--name=value` or `-nvalue` → the parameter's name, whether a value came with it, and the value."""
    if word.startswith("--"):
        name, sign, value = word[2:].partition("=")
    else:
        short = {param["short"]: str(param["name"]) for param in params.values() if "short" in param}
        name, value = short.get(word[1:2], word[1:2]), word[2:].removeprefix("=")
        sign = value and "="
    if name not in params or params[name].get("kind") == "argument":
        raise DefinitionError(f"handler 'command': run: no such option {word}{did_you_mean(name, params)}")
    return name, sign, value


def _arguments(words: list[str], params: Sequence[Param]) -> dict[str, Any]:
    """One word for each argument; those that are left over go to the one that takes several."""
    values: dict[str, Any] = {}
    extra = max(0, len(words) - len(params))
    left = [*words]
    for param in params:
        if param.get("multiple"):
            count, extra = min(len(left), 1 + extra), 0
            values[str(param["name"])] = [left.pop(0) for _ in range(count)]
        elif left:
            values[str(param["name"])] = left.pop(0)
    if left:
        raise DefinitionError(f"handler 'command': run: there is no argument for {left[0]!r}")
    return values
