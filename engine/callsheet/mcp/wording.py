"""Texts of the command line in the words of tools, where options are arguments and commands are tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_CLAUSE = re.compile(r"(; |, or )")
_COMMAND = re.compile(r"`[a-z][\w-]*((?: [a-z][\w-]*)+)[^`]*`")


def with_arguments(text: str, arguments: Mapping[str, str]) -> str:
    """With the names of arguments in the place of options. `arguments` are by the names of options."""
    return _OPTION.sub(lambda option: arguments.get(option[1], option[0]), text)


def for_tools(text: str, arguments: Mapping[str, str], tool_of: Callable[[str], str | None]) -> str:
    """The same, without what it says of options that a tool does not take, and with tools for commands.

    `tool_of` knows the tool of a command, if there is one.
    """

    def is_said(part: str) -> bool:
        is_known = all(name in arguments for name in _OPTION.findall(part))
        return is_known and all(_tool_in(words, tool_of) for words in _COMMAND.findall(part))

    text = _ASIDE.sub(lambda aside: aside[0] if is_said(aside[0]) else "", text)
    first, *rest = _CLAUSE.split(text)
    kept = [first] if is_said(first) else []
    kept += [f"{rest[place]}{rest[place + 1]}" for place in range(0, len(rest), 2) if is_said(rest[place + 1])]
    text = re.sub("^(?:; |, or )", "", "".join(kept))
    return with_arguments(_COMMAND.sub(lambda command: _tool_in(command[1], tool_of) or command[0], text), arguments)


def _tool_in(words: str, tool_of: Callable[[str], str | None]) -> str | None:
    """The tool of the longest command that words of a line begin with."""
    line = words.split()
    found = (tool_of(" ".join(line[:length])) for length in range(len(line), 0, -1))
    return next((tool for tool in found if tool is not None), None)
