"""Words of one's own for whole command lines, kept in a file of the configuration directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import UsageError, count_of
from ..files import PRIVATE, make_private_directory, open_regular, refuse_changeable
from ..paths import settings_directory
from ..patterns import lazy_pattern

if TYPE_CHECKING:
    import re

_NAME = lazy_pattern(r"[A-Za-z][\w-]*\Z")
_HOLE = lazy_pattern(r"\$(?:(\d)|@)")


class AliasWord(str):
    """A word out of an alias: what is typed beside it holds in its place."""

    __slots__ = ()


def aliases_path(environ: Mapping[str, str], program: str) -> str:
    return os.path.join(settings_directory(environ, program), "aliases.toml")


def read_aliases(environ: Mapping[str, str], program: str) -> dict[str, str]:
    """Name → command line; raises `UsageError` for a broken file, `NotAllowed` for one that others could change."""
    path = aliases_path(environ, program)
    if not os.path.exists(path):
        return {}
    refuse_changeable(path, "the aliases")
    import tomllib

    try:
        with open_regular(path) as file:
            found = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
    wrong = [name for name, text in found.items() if not isinstance(text, str)]
    if wrong:
        raise UsageError(f"{path}: {wrong[0]}: expected a text")
    return found


def write_aliases(environ: Mapping[str, str], program: str, aliases: Mapping[str, str]) -> None:
    import tomlkit

    from ..output_files import write_output_file

    path = aliases_path(environ, program)
    make_private_directory(os.path.dirname(os.path.realpath(path)))
    write_output_file(path, tomlkit.dumps(dict(sorted(aliases.items()))).encode(), PRIVATE)


def check_alias(name: str, line: str, commands: list[str]) -> None:
    """Raise `UsageError` unless `name` can stand for `line`."""
    if not _NAME.match(name):
        raise UsageError(f"{name!r} cannot be an alias", hint="letters, digits, - and _, a letter first")
    if name in commands:
        raise UsageError(f"{name!r} is a command already")
    if not _split_alias(name, line):
        raise UsageError(f"{name}: expected a command line")


def expand_alias(aliases: Mapping[str, str], args: list[str]) -> list[str]:
    """The arguments with the alias in front replaced; those that follow take `$1` to `$9` and `$@`, or come last.

    An alias may use another one, and an option with one value that is typed as well holds in its place. Raises
    `UsageError` when that goes round in circles or an argument is missing.
    """
    seen: list[str] = []
    while args and args[0] in aliases and args[0] not in seen:
        seen.append(args[0])
        words = [AliasWord(word) for word in _split_alias(args[0], aliases[args[0]])]
        args = _substitute_arguments(args[0], words, args[1:])
    if args and args[0] in seen and len(seen) > 1:
        raise UsageError(f"the aliases {' and '.join(seen)} refer to each other")
    return args


def _split_alias(name: str, line: str) -> list[str]:
    import shlex

    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"alias {name}: {str(error).lower()}: {line}") from None


def _substitute_arguments(name: str, words: list[AliasWord], given: list[str]) -> list[str]:
    holes = [hole for word in words for hole in _HOLE.findall(word)]
    if not holes:
        return [*words, *given]
    most = max((int(hole) for hole in holes if hole), default=0)
    if len(given) < most:
        raise UsageError(f"alias {name} needs {count_of(most, 'argument')}: {' '.join(words)}")
    found: list[str] = []
    for word in words:
        found += given[most:] if word == "$@" else [_filled_word(word, given)]
    return found if "" in holes else found + given[most:]


def _filled_word(word: AliasWord, given: list[str]) -> str:
    """A word that is nothing but a hole is what was typed for it."""

    def fill(hole: re.Match[str]) -> str:
        return given[int(hole[1]) - 1] if hole[1] and hole[1] != "0" else hole[0]

    filled = _HOLE.sub(fill, word)
    return filled if _HOLE.fullmatch(word) else AliasWord(filled)
