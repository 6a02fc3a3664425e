"""Whether texts that a person reads say what was meant: names that stand there as they are, options that are not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import slip_of
from ..source_file import Definitions, Path
from ..template import texts_in

_Params = Mapping[str, Any]  # by the names that expressions have for them
VARIABLE = re.compile(r"\$(\w+)")
LITERAL_BRACES = re.compile(r"\{\{\s*(\w+)[\w.]*\s*\}\}")
_TOLD = ("confirm", "fail", "note")  # to a person; a hint may say how a template is written
_OPTION_IN_TEXT = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")


def told_text_faults(definitions: Definitions, step: Mapping[str, Any], params: _Params) -> Iterator[tuple[Path, str]]:
    """Of what a command or one of its steps asks, notes, or fails with. `params` are those that it sees."""
    if step.keys().isdisjoint((*_TOLD, "hint")):
        return
    yield from _doubled_braces(step, params)
    yield from _misspelt_options(definitions, step, params)
    yield from _other_signs(step, params)


def _is_some_option(definitions: Definitions, name: str) -> bool:
    kinds = ("command", "program", "input")
    params = (param for kind in kinds for each in definitions.of_kind(kind) for param in each.table.get("params", ()))
    return any(param.get("name") == name for param in params)


def _other_signs(step: Mapping[str, Any], params: _Params) -> Iterator[tuple[Path, str]]:
    """Names as a shell has them, and places as other languages mark them, which a person would read as they stand."""
    for key in _TOLD:
        for text in texts_in(step.get(key)):
            for name in (each for each in VARIABLE.findall(text) if each in params and "{" not in text):
                yield (key,), f"${name} is said as it stands: a value is written {{{name}}}"
            if "{" not in text and re.search(r"(?<!\w)%[sd](?!\w)", text):
                yield (key,), "%s is said as it stands: a value stands in braces, {name}"


def _misspelt_options(definitions: Definitions, step: Mapping[str, Any], params: _Params) -> Iterator[tuple[Path, str]]:
    """Options of the command that a text for a person names with a slip, and no other command has."""
    names = {param["name"] for param in params.values() if param.get("kind") != "argument"}
    for key in (*_TOLD, "hint"):
        for text in texts_in(step.get(key)):
            for name in (each for each in _OPTION_IN_TEXT.findall(text) if each not in names):
                if (meant := slip_of(name, names)) is not None and not _is_some_option(definitions, name):
                    yield (key,), f"there is no --{name}, did you mean --{meant}?"


def _doubled_braces(step: Mapping[str, Any], params: _Params) -> Iterator[tuple[Path, str]]:
    """Names in doubled braces, which a person would read as they stand."""
    for key in _TOLD:
        for text in texts_in(step.get(key)):
            for found in LITERAL_BRACES.finditer(text):
                if found[1] in params or found[1] in ("given", "named"):  # else it may be any word
                    yield (key,), f"{found[0]} is that word in braces: a value stands in one pair, {found[0][1:-1]}"
