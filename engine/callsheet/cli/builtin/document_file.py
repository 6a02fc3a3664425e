"""OpenAPI documents as files that a person names, and what a new one of them changes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...commands.context import Context
from ...errors import UsageError
from ...openapi import ImportResult
from ...openapi.sound import SoundImport


def path_of_document(spec: str) -> str | None:
    """Where the document is; None on standard input, which has no files beside it."""
    return None if spec == "-" else spec


def document_text(context: Context, spec: str) -> str:
    if re.match(r"https?://", spec):
        raise UsageError(f"{spec}: expected a file or -", hint="download the document first")
    raw = context.read_source("-" if spec == "-" else f"@{spec}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{spec}: not UTF-8: byte {error.start}") from None


def say_changes(context: Context, found: SoundImport) -> None:
    """What is left out, and what is different from the import before."""
    for note in found.result.notes:
        context.note(note)
    for text in found.left_out:
        context.say(f"warning: left out: {text}")
    for line in _changes(found.result):
        context.streams.out.write(f"{line}\n")


def _changes(result: ImportResult) -> Iterator[str]:
    """What is different from the import before: a line each operation."""
    found, before = result.difference, result.earlier.operations
    http = {id: table["http"] for id, table in {**before, **result.operations}.items()}
    yield from (f"+ {id}  {http[id]}" for id in found.added)
    yield from (f"- {id}  {http[id]}" for id in found.gone)
    yield from (f"> {id} is now {now}  {http[now]}" for id, now in found.renamed.items())
    yield from (f"~ {id}  {text}" for id, text in found.changed.items())
