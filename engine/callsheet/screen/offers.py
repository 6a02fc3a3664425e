"""What a screen offers, out of the definitions: lists to open, and what can be done with a thing of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..language.parameters import first_argument, is_required
from ..language.safety import CHANGES
from ..registry import SERVING, TALKING

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.commands import CompiledCommand

_NOT_HERE = SERVING | TALKING | {"ui"}


class OfferedCommand(NamedTuple):
    """A command, and where one can be told of the parameter that takes the thing."""

    words: str
    definition: CompiledCommand
    param: str = ""

    @property
    def changes(self) -> bool:
        return self.definition["safety"] in CHANGES


def commands(catalog: Catalog) -> list[OfferedCommand]:
    """All that can be run on a screen."""
    every = catalog.all("command").items()
    return [
        OfferedCommand(words, each)
        for words, each in every
        if not each.get("hidden") and each.get("builtin") not in _NOT_HERE
    ]


def lists(catalog: Catalog) -> list[OfferedCommand]:
    """Those that list something without being told what of, in pages or as one answer that a resource's view shows."""
    views = {each.get("view") for each in catalog.all("resource").values()}
    return [
        each
        for each in commands(catalog)
        if (each.definition.get("pages") or _shows_all(each, views))
        and not any(is_required(param) for param in each.definition.get("params", ()))
    ]


def _shows_all(each: OfferedCommand, views: set[str | None]) -> bool:
    calls = "builtin" not in each.definition and not each.changes
    return calls and each.definition.get("view") in views - {None} and first_argument(each.definition) is None


def actions(catalog: Catalog, view: str | None, words: str) -> list[OfferedCommand]:
    """The commands that take a thing which this view shows, those of the list's own group first.

    A view is that of a resource; a command takes a thing of it where its first argument is looked up as one.
    """
    resources = {id for id, each in catalog.all("resource").items() if view and each.get("view") == view}
    group = words.rpartition(" ")[0]
    found = [
        each._replace(param=param["name"])
        for each in commands(catalog)
        if (param := first_argument(each.definition)) is not None and param.get("lookup") in resources
    ]
    return sorted(found, key=lambda each: not each.words.startswith(f"{group} "))


def reader(offered: list[OfferedCommand]) -> OfferedCommand | None:
    """The one that shows a thing whole."""
    reading = [
        each
        for each in offered
        if not each.changes and not each.definition.get("pages") and "builtin" not in each.definition
    ]
    sole = [each for each in reading if sum(map(is_required, each.definition.get("params", ()))) <= 1]
    return next(iter(sole), None)
