"""Files of the programs that agents run in: where they lie, and changing one entry of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .errors import CallsheetError, UsageError
from .files import open_regular
from .jsonc import JsoncError, parse_jsonc, with_member, without_member
from .output_files import output_file
from .paths import stays_below

if TYPE_CHECKING:
    from .language.shape.agents import ServerList

# Where a file of another program lies on this platform.

_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_PLATFORMS: dict[str, Literal["windows", "macos"]] = {"win32": "windows", "darwin": "macos"}


def user_file(servers: ServerList, environ: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """The file of this person; None where the program has none on this platform."""
    paths = servers.get("user", {})
    here: Literal["linux", "windows", "macos"] = _PLATFORMS.get(platform, "linux")
    named = paths.get(here) or paths.get("any")
    return existing_or_first_path(named, environ) if named else None


def project_file(servers: ServerList, folder: str) -> str | None:
    """The file of the project in a folder; None where the program has none. Raises `UsageError` as `below`."""
    paths = [path_below(folder, path) for path in servers.get("project", ())]
    return next((path for path in paths if os.path.lexists(path)), paths[0]) if paths else None


def path_below(folder: str, path: str) -> str:
    """A file that a definition names below a folder. Raises `UsageError` where it lies elsewhere, also by a link."""
    if not stays_below(path):
        raise UsageError(f"{path!r} does not stay below {folder}", hint="nothing was written")
    found = os.path.normpath(os.path.join(folder, *path.split("/")))
    top, target = os.path.realpath(folder), os.path.realpath(found)
    if os.path.commonpath([top, target]) != top:
        raise UsageError(f"{found} leads out of {folder}, to {target}", hint="nothing was written")
    return found


def existing_or_first_path(paths: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The first of the paths that exists, else the first whose variables are all set."""
    known = [found for path in paths if (found := expanded_path(path, environ)) is not None]
    return next((path for path in known if os.path.lexists(path)), known[0] if known else None)


def expanded_path(path: str, environ: Mapping[str, str]) -> str | None:
    """The path with its home directory and variables, in this platform's writing; None where one is not set."""
    if any(not environ.get(name) for name in _VARIABLE.findall(path)):
        return None
    if path.startswith("~/"):
        path = os.path.join(home_directory(environ), path[2:])
    return os.path.normpath(_VARIABLE.sub(lambda match: environ[match[1]], path))


def home_directory(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~")


# A configuration file of another program: read whole, and replaced in one step with a copy of what it was.

LARGEST = 16 << 20  # bytes
BACKUP = ".bak"
_PRIVATE = 0o600


class ForeignFile(NamedTuple):
    """`content` is None where there is no file yet."""

    path: str
    content: bytes | None

    @property
    def decoded_text(self) -> str:
        """Raises `UsageError` for what is not UTF-8."""
        try:
            return (self.content or b"").decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.path} is not UTF-8: byte {error.start}") from None

    def replace_text(self, text: str) -> None:
        """Links, mode and owner stay. Raises `CallsheetError`, also where it changed since it was read."""
        content = text.encode()
        if read_foreign_file(self.path).content != self.content:
            raise CallsheetError(f"{self.path} was changed by another program meanwhile", hint="try again")
        target = os.path.realpath(self.path)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the directory of {self.path}: {error.strerror}") from None
        if self.content is not None:
            mode = os.stat(target).st_mode & 0o777
            with output_file(target + BACKUP, named=False, mode=mode) as file:
                file.write(self.content)
        with output_file(self.path, mode=_PRIVATE) as file:
            file.write(content)


def read_foreign_file(path: str) -> ForeignFile:
    """Raises `UsageError` for a file that cannot be read."""
    if not os.path.lexists(path):
        return ForeignFile(path, None)
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    if len(content) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST >> 20} MiB")
    return ForeignFile(path, content)


# One entry in the text of a configuration file, set or removed; everything else stays as it is written.

MARK = "\ufeff"
_COMMENTS = {"toml": "#", "json": "/"}  # what begins a comment


class Unreadable(ValueError):
    """The text is not what the format says, or cannot be changed without touching something else."""


def data_of(text: str, format: str) -> Any:
    """All that the text says. Raises `Unreadable`; an empty text is an empty table."""
    text = text.removeprefix(MARK)
    if not text.strip():
        return {}
    if format == "toml":
        return _parse_toml(text).unwrap()
    try:
        return parse_jsonc(text)
    except JsoncError as error:
        raise Unreadable(str(error)) from None


def entry_at(data: Any, path: Sequence[str]) -> Any:
    """What stands at the path of keys, or None. Raises `Unreadable` where something on the way is not a table."""
    for key in path:
        if not isinstance(data, Mapping):
            raise Unreadable(f"expected a table to hold {key!r}")
        data = data.get(key)
        if data is None:
            return None
    return data


def with_entry(text: str, format: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text with the keys of `entry` at the path; further keys that stand there stay."""
    before = data_of(text, format)
    there = entry_at(before, path)
    if there is not None and not isinstance(there, Mapping):
        raise Unreadable(f"{'.'.join(path)} is not a table")
    changed = _toml_with(text, path, entry) if format == "toml" else _json_with(text, path, entry, there)
    return _verified_edit(changed, format, _merged_entry(before, path, {**(there or {}), **entry}))


def without_entry(text: str, format: str, path: Sequence[str]) -> str:
    """The text without what stands at the path; the same text where nothing does."""
    before = data_of(text, format)
    if entry_at(before, path) is None:
        return text
    changed = _text_without_entry(text, format, path)
    for length in range(len(path) - 1, 0, -1):  # what held nothing else goes too, but not a comment in it
        above = path[:length]
        less = (
            _text_without_entry(changed, format, above) if entry_at(data_of(changed, format), above) == {} else changed
        )
        if less == changed or less.count(_COMMENTS[format]) < changed.count(_COMMENTS[format]):
            break
        changed = less
    wanted = _merged_entry(before, path, None)
    for empty in range(len(path) - 1, 0, -1):  # a table that held nothing else may be gone with it
        if data_of(changed, format) == wanted:
            break
        if entry_at(wanted, path[:empty]) == {}:
            wanted = _merged_entry(wanted, path[:empty], None)
    return _verified_edit(changed, format, wanted)


def _text_without_entry(text: str, format: str, path: Sequence[str]) -> str:
    return _toml_without(text, path) if format == "toml" else str(_call_or_unreadable(without_member, text, path))


def entry_snippet(format: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The entry as a file of its own would have it, for a person to paste."""
    return with_entry("", format, path, entry).rstrip("\n") + "\n"


def _verified_edit(text: str, format: str, wanted: Any) -> str:
    """A change that says anything else than was meant is not made."""
    if data_of(text, format) != wanted:
        raise Unreadable("this file cannot be changed without touching something else")
    return text


def _merged_entry(data: Any, path: Sequence[str], value: Any) -> Any:
    key, *rest = path
    inner = _merged_entry(data.get(key, {}), rest, value) if rest else value
    left = {name: item for name, item in data.items() if name != key}
    return left if inner is None else {**left, key: inner}


def _json_with(text: str, path: Sequence[str], entry: Mapping[str, Any], there: Any) -> str:
    if there is None:
        text = _call_or_unreadable(with_member, text, path, dict(entry))
        return text if text.endswith(("\n", "\r")) or "\n" not in text else text + "\n"
    for key, value in entry.items():
        if key not in there or there[key] != value:
            text = _call_or_unreadable(with_member, text, [*path, key], value)
    return text


def _call_or_unreadable(edit: Any, *arguments: Any) -> str:
    try:
        return str(edit(*arguments))
    except JsoncError as error:
        raise Unreadable(str(error)) from None


def _parse_toml(text: str) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Unreadable(str(error)) from None


def _toml_with(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    import tomlkit
    from tomlkit.items import InlineTable

    document = _parse_toml(text.removeprefix(MARK))
    here: Any = document
    for place, key in enumerate(path):
        if key not in here:
            inline = isinstance(here, InlineTable)
            here[key] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=place < len(path) - 1)
        here = here[key]
    for key, value in entry.items():
        if here.get(key) != value:
            here[key] = value
    return _with_layout_of(text, tomlkit.dumps(document))


def _toml_without(text: str, path: Sequence[str]) -> str:
    import tomlkit

    document = _parse_toml(text.removeprefix(MARK))
    here: Any = document
    for key in path[:-1]:
        here = here[key]
    del here[path[-1]]
    return _with_layout_of(text, tomlkit.dumps(document))


def _with_layout_of(text: str, changed: str) -> str:
    """With the line ends and the byte-order mark of the text."""
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return MARK * text.startswith(MARK) + changed
