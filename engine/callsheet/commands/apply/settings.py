"""Where the files of a directory go: `callsheet.toml` in it, and what a person says on the command line."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, did_you_mean
from ...sites.profiles.choose import read_profiles
from ..folder.model import FolderSettings
from ..folder.pictures import diagram_programs, pictures_directory
from ..steps.lookup import Lookups
from .pages import PageTarget

if TYPE_CHECKING:
    from ..context import Context
    from ..resources.things import Things
    from ..steps.dispatcher import StepDispatcher

NAME = "callsheet.toml"
_LONGEST = 1 << 20


def read_settings(root: str, given: Mapping[str, Any], places: list[str]) -> dict[str, Any]:
    """What the file says, under what is given; `places` are the resources that can say where pages go."""
    path = os.path.join(root, NAME)
    said: dict[str, Any] = {}
    if os.path.isfile(path):
        try:
            with open(path, "rb") as file:
                said = tomllib.loads(file.read(_LONGEST).decode())
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: {error}") from None
    known = [*places, "parent", "name", "exclude", "title-prefix"]
    for key, value in said.items():
        if key not in known:
            raise UsageError(
                f"{path}: no setting {key!r}{did_you_mean(key, known)}", hint=f"there are: {', '.join(known)}"
            )
        if key == "exclude" and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise UsageError(f"{path}: exclude: expected a list of patterns")
        if key != "exclude" and not isinstance(value, str | int):
            raise UsageError(f"{path}: {key}: expected a text")
    return {**said, **{key: value for key, value in given.items() if value}}


def folder_settings(context: Context, said: Mapping[str, Any]) -> FolderSettings:
    """With the programs that the person's own settings name."""
    return FolderSettings(
        exclude=tuple(said.get("exclude", ())),
        title_prefix=str(said.get("title-prefix", "")),
        programs=diagram_programs(read_profiles(context.catalog, context.environ)),
        cache=pictures_directory(context.environ),
    )


def page_target(dispatcher: StepDispatcher, things: Things, said: Mapping[str, Any], directory: str) -> PageTarget:
    """The ids of where pages go. Raises `UsageError` where it is not said."""
    lookups = Lookups(dispatcher.context, dispatcher, exact=True)
    root = lookups.find(things.resource, str(said["parent"]), {}).value if said.get("parent") else None
    outer = [id for id in things.parents if id != things.resource]
    parents = {id: str(lookups.find(id, str(said[id]), {}).value) for id in outer if said.get(id)}
    if root is not None:
        above = things.read(str(root))
        known = {id: found for id, found in things.parents_of(above).items() if id in outer}
        for id, given in parents.items():
            if known.get(id, given) != given:
                raise UsageError(f"{things.title} {root} is in another {id}: leave out {id}, or name a page in it")
        parents |= known
    for id in outer[:1]:
        if id not in parents:
            raise UsageError(
                f"where to? no {id} is given", hint=f"pass --{id}, or write it into {NAME} in the directory"
            )
    return PageTarget(parents, str(root) if root is not None else None, str(said.get("name") or directory))
