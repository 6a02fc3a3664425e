"""A command line in words → the command, and which word is which parameter's. Nothing is converted or run here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DefinitionError, did_you_mean
from .parameters import is_required

if TYPE_CHECKING:
    from .shape.commands import Param


def command_words(
    given: Sequence[str], commands: Collection[str], shared: Sequence[Param]
) -> tuple[list[str], list[str]]:
    """The words of the command, and what stands around them; options of the program (`shared`) may stand before them.

    Raises `DefinitionError` with the closest command.
    """
    words = [*given]
    params = {str(param["name"]): param for param in shared}
    before = 0
    while before < len(words) and words[before].startswith("-") and words[before] != "--":
        name, sign, _ = _split_option(words[before], params)
        before += 1 if sign or params[name].get("kind") == "flag" else 2
    for end in range(len(words), before, -1):
        if " ".join(words[before:end]) in commands:
            return words[before:end], words[:before] + words[end:]
    named = [word for word in words[before:] if not word.startswith("-")][:3]
    raise DefinitionError(f"{' '.join(words)!r} is not a command{did_you_mean(' '.join(named), commands)}")


def bind_words(words: Sequence[str], own: Sequence[Param], shared: Sequence[Param]) -> dict[str, Any]:
    """Parameter → word, a list where it may be repeated, True for a flag. Raises `DefinitionError`."""
    params = {str(param["name"]): param for param in [*shared, *own]}
    values: dict[str, Any] = {}
    positional: list[str] = []
    takes_rest = any(param.get("rest") for param in own)
    position = iter(words)
    for word in position:
        if word == "--" or (takes_rest and positional):
            positional += [word] * (word != "--")
            positional += position
        elif word.startswith("-") and word != "-":
            name, value = _option_value(word, position, params)
            if params[name].get("multiple"):
                values.setdefault(name, []).append(value)
            else:
                values[name] = value
        else:
            positional.append(word)
    arguments = [param for param in own if param.get("kind") == "argument"]
    named = [param for param in own if param.get("positional") and param["name"] not in values]
    return values | _argument_values(positional, [*arguments, *named])


def missing_parameters(values: Mapping[str, Any], own: Sequence[Param]) -> list[str]:
    """The parameters that must be given and are not."""
    return [str(param["name"]) for param in own if is_required(param) and values.get(param["name"]) in (None, [])]


def _option_value(word: str, following: Iterator[str], params: Mapping[str, Param]) -> tuple[str, Any]:
    name, sign, value = _split_option(word, params)
    if params[name].get("kind") == "flag":
        return name, True
    if not sign and (value := next(following, "")) == "":
        raise DefinitionError(f"{word} needs a value")
    return name, value


def _split_option(word: str, params: Mapping[str, Param]) -> tuple[str, str, str]:
    """`--name=value` or `-nvalue` → the parameter's name, whether a value came with it, and the value."""
    if word.startswith("--"):
        name, sign, value = word[2:].partition("=")
        also = {other: str(param["name"]) for param in params.values() for other in param.get("aliases", ())}
        name = name if name in params else also.get(name, name)
    else:
        short = {param["short"]: str(param["name"]) for param in params.values() if "short" in param}
        name, value = short.get(word[1:2], word[1:2]), word[2:].removeprefix("=")
        sign = value and "="
    if name not in params or params[name].get("kind") == "argument":
        raise DefinitionError(f"no such option {word}{did_you_mean(name, params)}")
    return name, sign, value


def _argument_values(words: Sequence[str], params: Sequence[Param]) -> dict[str, Any]:
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
        raise DefinitionError(f"unexpected argument {left[0]!r}")
    return values
