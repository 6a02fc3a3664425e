"""Where journals are kept that nobody gave a place, and which there are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from ...paths import state_directory

ENDING = ".jsonl"


def journal_folder(environ: Mapping[str, str], program: str) -> str:
    """It need not exist."""
    return os.path.join(state_directory(environ), "journals", program)


def fresh_path(environ: Mapping[str, str], program: str, command: str) -> str:
    """A name that sorts by time and says which command it was."""
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    words = re.sub(r"[^a-z0-9]+", "-", command.casefold()).strip("-")
    return os.path.join(journal_folder(environ, program), f"{when}-{words}-{os.urandom(2).hex()}{ENDING}")


def kept_journals(environ: Mapping[str, str], program: str) -> Iterator[str]:
    """The paths of those that are there, the latest first."""
    folder = journal_folder(environ, program)
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return
    yield from (os.path.join(folder, name) for name in names if name.endswith(ENDING))


def found_journal(environ: Mapping[str, str], program: str, word: str) -> str:
    """A path, or `last` for the latest one."""
    if word == "last" and not os.path.exists(word):
        return next(kept_journals(environ, program), word)
    return word
