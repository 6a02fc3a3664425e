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

    def filled(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        return fill(self.values, scope) or {}


def command_call(program: str, run: str | Sequence[str], values: Mapping[str, Any], environ: Any) -> CommandCall:
    """Raises `UsageError` or `DefinitionError`, with the closest match, for what the program does not have."""
    given = run.split() if isinstance(run, str) else [*run]
    catalog = open_catalog(program, environ)
    try:
        definition = catalog.get("program", program)
        shared: list[Param] = definition.get("options", [])
        words, rest = _command_words(given, set(catalog.ids("command")), shared)
        command = catalog.get("command", " ".join(words))
    finally:
        catalog.close()
    own: list[Param] = command.get("params", [])
    known = {str(param["name"]): param for param in [*shared, *own]}
    bound = {**_bound(rest, known, own), **values}
    for name in bound:
        if name not in known:
            raise DefinitionError(
                f"handler 'command': {' '.join(words)} has no parameter {name!r}{did_you_mean(name, known)}"
            )
    typed = frozenset(name for name, value in bound.items() if not is_filled(value))
    return CommandCall(program, definition["prefix"], words, bound, typed)


def is_filled(value: Any) -> bool:
    """Whether anything in a template comes from an event."""
    if isinstance(value, str):
        return any(not isinstance(part, str) for part in compile_template(value))
    if isinstance(value, Mapping):
        return any(is_filled(item) for item in value.values())
    return isinstance(value, list) and any(is_filled(item) for item in value)


def _command_words(given: list[str], commands: set[str], shared: Sequence[Param]) -> tuple[list[str], list[str]]:
    """The words of the command, and what stands around them; options of the program may stand before them."""
    known = {str(param["name"]): param for param in shared}
    before = 0
    while before < len(given) and given[before].startswith("-") and given[before] != "--":
        name, sign, _ = _split_option(given[before], known)
        before += 1 if sign or known[name].get("kind") == "flag" else 2
    for end in range(len(given), before, -1):
        if " ".join(given[before:end]) in commands:
            return given[before:end], given[:before] + given[end:]
    words = [word for word in given[before:] if not word.startswith("-")][:3]
    near = did_you_mean(" ".join(words), commands)
    raise DefinitionError(f"handler 'command': run: {' '.join(given)!r} names no command{near}")


def _bound(words: list[str], known: Mapping[str, Param], own: Sequence[Param]) -> dict[str, Any]:
    """Templates by parameter, out of a list of words as a command line has them."""
    found: dict[str, Any] = {}
    positional: list[str] = []
    position = iter(words)
    for word in position:
        if word == "--":
            positional += position
        elif word.startswith("-") and word != "-":
            name, value = _option(word, position, known)
            if known[name].get("multiple"):
                found.setdefault(name, []).append(value)
            else:
                found[name] = value
        else:
            positional.append(word)
    return found | _arguments(positional, [param for param in own if param.get("kind") == "argument"])


def _option(word: str, following: Iterator[str], known: Mapping[str, Param]) -> tuple[str, Any]:
    name, sign, value = _split_option(word, known)
    if known[name].get("kind") == "flag":
        return name, True
    if not sign and (value := next(following, "")) == "":
        raise DefinitionError(f"handler 'command': run: {word} needs a value")
    return name, value


def _split_option(word: str, known: Mapping[str, Param]) -> tuple[str, str, str]:
    """`--name=value` or `-nvalue` → the parameter's name, whether a value came with it, and the value."""
    if word.startswith("--"):
        name, sign, value = word[2:].partition("=")
    else:
        short = {param["short"]: str(param["name"]) for param in known.values() if "short" in param}
        name, value = short.get(word[1:2], word[1:2]), word[2:].removeprefix("=")
        sign = value and "="
    if name not in known or known[name].get("kind") == "argument":
        raise DefinitionError(f"handler 'command': run: no such option {word}{did_you_mean(name, known)}")
    return name, sign, value


def _arguments(words: list[str], params: Sequence[Param]) -> dict[str, Any]:
    """One word for each argument; those that are left over go to the one that takes several."""
    found: dict[str, Any] = {}
    extra = max(0, len(words) - len(params))
    left = [*words]
    for param in params:
        if param.get("multiple"):
            count, extra = min(len(left), 1 + extra), 0
            found[str(param["name"])] = [left.pop(0) for _ in range(count)]
        elif left:
            found[str(param["name"])] = left.pop(0)
    if left:
        raise DefinitionError(f"handler 'command': run: there is no argument for {left[0]!r}")
    return found
