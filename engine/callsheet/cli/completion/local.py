"""What completes an option or argument from this machine, besides the ids of a kind of definition.

Each function takes the run, the values typed so far and the beginning of the word, and gives words to choose from;
whatever is broken completes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import islice
from typing import Any

from ...commands.context import Context
from ...errors import CallsheetError
from ...registry import REGISTRIES
from ...sites.profiles.limits import SETTINGS

_MOST_FILES = 1000


def aliases(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ..aliases import read_aliases

    del given, incomplete
    try:
        return list(read_aliases(context.environ, context.program))
    except CallsheetError:
        return []


def sites(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ...sites.profiles.read_profiles import site_names

    del given, incomplete
    return site_names(context.catalog, context.environ)


def journals(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ...commands.journal.folder import kept_journals

    del given
    paths = [path.removeprefix("@") for path in files(incomplete)]
    return ["last", *map(os.path.basename, kept_journals(context.environ, context.program)), *paths]


def programs(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ...programs.installed import installed_programs

    del given, incomplete
    return [each.program for each in installed_programs(context.environ)]


def own_programs(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    from ...programs.installed import OWN, installed_programs

    del given, incomplete
    return [each.program for each in installed_programs(context.environ) if each.kind == OWN]


def parameters(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """`name=` for every parameter of the operation that was typed, then the values that it may have."""
    operation = context.catalog.find("operation", str(given.get("id")))
    if operation is None:
        return []
    name, equals, _ = incomplete.partition("=")
    params = operation.get("params", [])
    if not equals:
        parts = operation.get("body", {}).get("parts", {})
        return [f"{each}=" for each in [*(param["name"] for param in params), *parts]]
    for param in params:
        if param["name"] == name:
            values = param.get("enum", ["true", "false"] if param.get("type") == "boolean" else [])
            return [f"{name}={value}" for value in values]
    return []


def methods(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given
    return _ignoring_case([str(name) for (name,) in _column(context, "method")], incomplete)


def tags(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given
    return _ignoring_case([str(name) for (name,) in _column(context, "tag")], incomplete)


def kinds(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    del given, incomplete
    return list(context.catalog.kinds())


def ids(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """Of the kind that was typed."""
    return context.catalog.ids(str(given.get("kind")), incomplete)


def settings(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """The keys of the settings file: those of the active site, and of every site by its name."""
    del given
    if not incomplete.startswith("sites."):
        return ["site", *SETTINGS]
    names = [f"sites.{name}." for name in sites(context, {}, incomplete)]
    return [f"{name}{key}" for name in names for key in SETTINGS]


def setting_values(context: Context, given: Mapping[str, Any], incomplete: str) -> list[str]:
    """What the setting that was typed may be."""
    key = str(given.get("key"))
    if key == "site":
        return sites(context, {}, incomplete)
    kind = SETTINGS.get(key.rpartition(".")[2], "")
    if kind == "boolean":
        return ["true", "false"]
    if kind in REGISTRIES:
        return list(REGISTRIES[kind])
    return context.catalog.ids(kind) if kind else []


def files(incomplete: str) -> list[str]:
    """`@PATH` for a word that begins so; directories end with a slash."""
    folder, _, begun = incomplete.removeprefix("@").rpartition("/")
    slash = "/" if "/" in incomplete else ""
    try:
        with os.scandir(folder or slash or ".") as found:
            entries = list(islice(found, _MOST_FILES))
            shown = [each for each in entries if each.name.startswith(".") <= begun.startswith(".")]
            return sorted(f"@{folder}{slash}{each.name}{'/' if each.is_dir() else ''}" for each in shown)
    except (OSError, ValueError):
        return []


def _column(context: Context, name: str) -> list[tuple[Any, ...]]:
    return context.catalog.query(f"SELECT DISTINCT {name} FROM operation ORDER BY {name}")  # noqa: S608 - a column of this module


def _ignoring_case(words: list[str], incomplete: str) -> list[str]:
    """As the person began the word, so that the shell takes it for the same one."""
    rest = [(word, word[len(incomplete) :]) for word in words if word.casefold().startswith(incomplete.casefold())]
    return [incomplete + end for _, end in rest]
