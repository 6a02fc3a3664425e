"""`mcp enable|disable|list`: an entry for this server in the files of the programs that agents run in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from ..hosts import (
    BACKUP,
    ForeignFile,
    Unreadable,
    data_of,
    entry_at,
    entry_snippet,
    project_file,
    read_foreign_file,
    user_file,
    with_entry,
    without_entry,
)
from ..installation import own_command
from ..language.template import fill_template, texts_in
from ..terminal import escape_line
from .mcp_commands import toolbox_of

if TYPE_CHECKING:
    from ..commands.context import Context, ParameterValues
    from ..language.shape.agents import HostDefinition

_START = ("mcp", "start")


class HostEntry(NamedTuple):
    """The entry of this server in one file."""

    host: str
    file: ForeignFile
    format: str
    keys: list[str]

    def read_entry(self) -> Any:
        """What stands there; raises `UsageError` where the file cannot be read."""
        try:
            return entry_at(data_of(self.file.decoded_text, self.format), self.keys)
        except Unreadable as error:
            raise UsageError(f"{self.file.path}: {error}") from None


def enable_host(context: Context, values: ParameterValues) -> None:
    toolbox_of(context, {**values, "max-bytes": 16384})  # a wrong set is told here, not when an agent starts it
    definition = _definition_of_host(context, values["host"])
    entry = _make_entry(context, definition, values)
    keys = _keys_of_entry(context, definition, values)
    pasted = entry_snippet(definition["servers"]["format"], keys, entry)
    if values["print"]:
        context.streams.out.write(pasted)
        return
    path = _path_of_file(context, definition, values)
    try:
        place = HostEntry(values["host"], read_foreign_file(path), definition["servers"]["format"], keys)
        there = place.read_entry()
        text = with_entry(place.file.decoded_text, place.format, place.keys, entry) if _is_free(there) else None
    except (UsageError, Unreadable) as error:
        message = error.message if isinstance(error, UsageError) else f"{path}: {error}"
        raise UsageError(message, hint=f"nothing was changed; put this there yourself:\n{pasted}") from None
    if text is None:
        name = place.keys[-1]
        problem = f"{place.file.path} has another server under {name!r}"
        raise UsageError(problem, hint=f"choose another name: --name {name}-2")
    _save_entry(context, place, text, "changed" if there is not None else "added", definition)


def disable_host(context: Context, values: ParameterValues) -> None:
    definition = _definition_of_host(context, values["host"])
    path, keys = _path_of_file(context, definition, values), _keys_of_entry(context, definition, values)
    place = HostEntry(values["host"], read_foreign_file(path), definition["servers"]["format"], keys)
    there = place.read_entry()
    if not _is_free(there):
        raise UsageError(f"{place.file.path}: {place.keys[-1]!r} is another server; nothing was changed")
    try:
        text = without_entry(place.file.decoded_text, place.format, place.keys)
    except Unreadable as error:
        raise UsageError(f"{place.file.path}: {error}", hint=f"remove {'.'.join(place.keys)} there yourself") from None
    _save_entry(context, place, text, "removed", definition)


def list_hosts(context: Context, values: ParameterValues) -> None:
    rows = []
    for host, definition in context.catalog.hosts.all().items():
        if "servers" not in definition:
            continue
        for scope, path in _files_of_host(context, definition, values).items():
            state = _state_of_entry(context, host, definition, path, values)
            rows.append({"name": host, "title": definition["title"], "scope": scope, "file": path, "state": state})
    context.output(context.catalog.views.get("host")).print_items(rows)


def _files_of_host(context: Context, definition: HostDefinition, values: Mapping[str, Any]) -> dict[str, str]:
    servers = definition["servers"]
    found = {"user": user_file(servers, context.environ)}
    with suppress(UsageError):  # a link that leads out of the project
        found["project"] = project_file(servers, values["project"] or os.curdir)
    return {scope: path for scope, path in found.items() if path is not None}


def _state_of_entry(
    context: Context, host: str, definition: HostDefinition, path: str, values: Mapping[str, Any]
) -> str:
    servers = definition["servers"]
    try:
        there = HostEntry(
            host, read_foreign_file(path), servers["format"], _keys_of_entry(context, definition, values)
        ).read_entry()
    except UsageError as error:
        return f"cannot be read: {escape_line(error.message)}"
    return "" if there is None else "enabled" if _is_ours(there) else "another server"


def _definition_of_host(context: Context, name: str) -> HostDefinition:
    definition = context.catalog.hosts.get(name)
    if "servers" not in definition:
        raise UsageError(f"the configuration file of {definition['title']} is not known")
    return definition


def _path_of_file(context: Context, definition: HostDefinition, values: Mapping[str, Any]) -> str:
    servers = definition["servers"]
    folder = values["project"]
    if folder is not None:
        path = project_file(servers, folder)
        if path is None:
            raise UsageError(f"{definition['title']} has no configuration file per project", hint="leave out --project")
        if not os.path.isdir(folder):
            raise UsageError(f"--project: {folder} is not a directory")
        return path
    path = user_file(servers, context.environ)
    if path is None:
        hint = "--print shows what to put there, --project DIR names a project"
        raise UsageError(f"the configuration file of {definition['title']} on this platform is not known", hint=hint)
    return path


def _keys_of_entry(context: Context, definition: HostDefinition, values: Mapping[str, Any]) -> list[str]:
    return [*definition["servers"]["at"], values["name"] or context.program]


def _make_entry(context: Context, definition: HostDefinition, values: Mapping[str, Any]) -> dict[str, Any]:
    """How the server is started. No credential stands there: it is found where it is kept."""
    command, args = _command_of_entry(context, shared=values["project"] is not None)
    site = context.option("site")
    args += ["--site", site] if site else []
    args += _START
    for name in ("tools", "write"):
        args += [f"--{name}", values[name]] if values[name] is not None else []
    args += ["--read-only"] if values["read-only"] else []
    found: dict[str, Any] = fill_template(definition["servers"]["entry"], {"command": command, "args": args})
    return found


def _command_of_entry(context: Context, *, shared: bool) -> tuple[str, list[str]]:
    """The program; with its whole path in a file of this person, since not every program knows the shell's PATH."""
    if shared:
        return context.program, []
    found = shutil.which(context.program, path=context.environ.get("PATH"))
    if found:
        return os.path.abspath(found), []
    command, *args = own_command(context.program)
    return command, args


def _is_free(entry: Any) -> bool:
    return entry is None or _is_ours(entry)


def _is_ours(entry: Any) -> bool:
    """Whether it starts this server, in whatever shape."""
    words = [*texts_in(entry)]
    return any(tuple(words[place : place + 2]) == _START for place in range(len(words)))


def _save_entry(context: Context, place: HostEntry, text: str, done: str, definition: HostDefinition) -> None:
    path = place.file.path
    changed = text.encode() != (place.file.content or b"")
    if changed and context.only_tries(f"{'.'.join(place.keys)} would be {done} in {path}"):
        return
    if changed:
        place.file.replace_text(text)
        if place.file.content is not None:
            context.note(f"{path}{BACKUP} is the file as it was")
        if "then" in definition["servers"]:
            context.note(definition["servers"]["then"])
    row = {"name": place.host, "file": path, "state": done if changed else "unchanged"}
    context.output(context.catalog.views.get("host-change")).print_one(row)
