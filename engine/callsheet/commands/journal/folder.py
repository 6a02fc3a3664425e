"""Where journals are kept that nobody gave a place, and which there are."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ...errors import CallsheetError, UsageError
from ...files import read_private, write_atomically
from ...jsontext import JSONError, dump_json, parse_json
from ...paths import state_directory

ENDING = ".jsonl"
_LAST = "last-change.json"  # what is known of it, with a journal or without one
_KEPT = timedelta(days=90)
_MOST = 2000
_TIME = "%Y%m%d-%H%M%S-%f"  # the name of a later one sorts behind that of an earlier one
_OURS = re.compile(r"\d{8}-\d{6}-[a-z0-9-]*\.jsonl")


def journal_folder(environ: Mapping[str, str], program: str) -> str:
    """It need not exist."""
    return os.path.join(state_directory(environ), "journals", program)


def fresh_path(environ: Mapping[str, str], program: str, command: str) -> str:
    """A name that sorts by time and says which command it was."""
    when = datetime.now(UTC).strftime(_TIME)
    words = re.sub(r"[^a-z0-9]+", "-", command.casefold()).strip("-")
    return os.path.join(journal_folder(environ, program), f"{when}-{words}-{os.urandom(2).hex()}{ENDING}")


def remove_old(environ: Mapping[str, str], program: str) -> None:
    """Remove those that got their names here and are too old, or more than are kept."""
    earliest = (datetime.now(UTC) - _KEPT).strftime(_TIME)
    ours = [path for path in kept_journals(environ, program) if _OURS.fullmatch(os.path.basename(path))]
    for place, path in enumerate(ours):
        if place >= _MOST or os.path.basename(path) < earliest:
            with contextlib.suppress(OSError):
                os.remove(path)


def is_kept_name(word: str) -> bool:
    """Whether a word can be the name, without its folder, of a journal that nobody gave a place."""
    return _OURS.fullmatch(word) is not None


def kept_journals(environ: Mapping[str, str], program: str) -> Iterator[str]:
    """The paths of those that are there, the latest first."""
    folder = journal_folder(environ, program)
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return
    yield from (os.path.join(folder, name) for name in names if name.endswith(ENDING))


def found_journal(environ: Mapping[str, str], program: str, word: str) -> str:
    """The name of a kept one, a path, or `last` for that of the last change; raises `UsageError` where it has none."""
    if os.path.exists(word):
        return word
    if word != "last":
        kept = os.path.join(journal_folder(environ, program), word)
        return kept if is_kept_name(word) and os.path.exists(kept) else word
    change = _last_change(environ, program)
    latest = change["journal"] if change else next(kept_journals(environ, program), None)
    if latest is None:
        always = f"{program} config set journal always keeps one of every change that can be undone"
        hint = f"{always}; --journal FILE keeps one of this change"
        if not change:
            raise UsageError("no journal was kept yet", hint=hint)
        earlier = f"{program} journals list shows those of earlier changes"
        what = f"`{change['command']}` of {change['time']}"
        if not change.get("can_undo", True):
            raise UsageError(f"the last change cannot be undone: {what}", hint=earlier)
        raise UsageError(f"the last change has no journal: {what}", hint=f"{hint}; {earlier}")
    if change and not os.path.exists(latest):
        raise UsageError(f"the journal of the last change is gone: {shlex.quote(latest)}")
    return str(latest)


def remember_last(
    environ: Mapping[str, str], program: str, command: str, journal: str | None, *, can_undo: bool
) -> None:
    """Write down which change was the last one, lest an earlier one is taken for it.

    `can_undo`: a journal of such a change can put back what was there.
    """
    time = datetime.now(UTC).isoformat(timespec="seconds")
    change = {"command": command, "time": time, "journal": journal, "can_undo": can_undo}
    with contextlib.suppress(CallsheetError):
        write_atomically(os.path.join(journal_folder(environ, program), _LAST), dump_json(change).encode())


def _last_change(environ: Mapping[str, str], program: str) -> dict[str, Any] | None:
    """None where nothing is known."""
    path = os.path.join(journal_folder(environ, program), _LAST)
    if not os.path.exists(path):
        return None
    try:
        change = parse_json(read_private(path, "the note of the last change"))
    except JSONError:
        return None
    known = isinstance(change, dict) and {"command", "time", "journal"} <= change.keys()
    return change if known else None
