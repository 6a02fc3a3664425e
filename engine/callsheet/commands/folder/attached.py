"""The files that go along with a page, each under a name that no other of the page has."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
from collections import Counter
from collections.abc import Callable, Mapping

from ..steps.beside import UNSAFE
from .model import Diagram, FolderProblem, FolderSettings, PageFile, Reference
from .text import PageText


def attached_files(
    text: PageText,
    shown: Mapping[str, list[Reference]],
    found: Mapping[str, str],
    hash_of: Callable[[str], str],
    settings: FolderSettings,
) -> tuple[list[PageFile], list[FolderProblem]]:
    files: list[PageFile] = []
    problems: list[FolderProblem] = []
    names = unique_names(shown)
    for path, references in shown.items():
        try:
            digest = hash_of(path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            problems.append(FolderProblem(path, 0, f"cannot be read: {reason}", stops=True))
            continue
        files.append(PageFile(found[path], names[path], digest, tuple(references)))
    return files + _diagrams(text, settings), problems


def unique_names(paths: Mapping[str, object]) -> dict[str, str]:
    """A name for each path: its last part, or all of it where others of the page end in the same one.

    A name depends on nothing but what the page shows, so it is the same the next time.
    """
    short = {path: UNSAFE.sub("-", posixpath.basename(path)) for path in paths}
    counts = Counter(name.casefold() for name in short.values())
    names = {
        path: name if counts[name.casefold()] == 1 else UNSAFE.sub("-", path.replace("/", "-"))
        for path, name in short.items()
    }
    counts = Counter(name.casefold() for name in names.values())
    return {path: name if counts[name.casefold()] == 1 else _hashed(path, name) for path, name in names.items()}


def _hashed(path: str, name: str) -> str:
    stem, suffix = posixpath.splitext(name)
    return f"{stem}-{hashlib.sha256(path.encode()).hexdigest()[:8]}{suffix}"


def _diagrams(text: PageText, settings: FolderSettings) -> list[PageFile]:
    made: dict[str, PageFile] = {}
    for fence, line in zip(text.fences, text.lines[len(text.addresses) :], strict=True):
        program = settings.programs[fence.language]
        decides = json.dumps([program.run, program.format, fence.language, fence.content]).encode()
        key = hashlib.sha256(decides).hexdigest()
        reference = Reference(fence.start, fence.end, image=True, html=False, block=True)
        known = made.get(key)
        references = (*known.references, reference) if known else (reference,)
        name = f"{UNSAFE.sub('-', fence.language)}-{key[:16]}.{program.format}"
        path = os.path.join(settings.cache, f"{key}.{program.format}")
        diagram = known.diagram if known else Diagram(fence.language, fence.content, line, program)
        made[key] = PageFile(path, name, key, references, diagram)
    return list(made.values())
