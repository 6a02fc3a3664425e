"""The files of a directory, without what is hidden and without what leads out of it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...errors import UsageError
from ..steps.beside import PAGES
from .model import FolderProblem
from .navigation import BESIDE

PROGRAMS = (".mdx",)  # pages that are programs
SKIPPED = frozenset({"node_modules", "__pycache__"})
MOST_FILES = 200_000
DEEPEST = 60


@dataclass
class Files:
    """`found`: path relative to the root, with slashes, in the composed form of Unicode → path on the disk."""

    root: str
    found: dict[str, str] = field(default_factory=dict)
    beside: list[tuple[str, str]] = field(default_factory=list)  # directory, and file that says something of its pages
    problems: list[FolderProblem] = field(default_factory=list)

    def is_page(self, path: str) -> bool:
        """Whether it would be a page, or is one for others."""
        return path.lower().endswith((*PAGES, *PROGRAMS))

    def pages(self, exclude: Sequence[str]) -> list[str]:
        is_excluded = excluder(exclude)
        return [path for path in self.found if path.lower().endswith(PAGES) and not is_excluded(path)]


def walk_directory(root: str) -> Files:
    """Raises `UsageError` for a root that is no directory."""
    if not os.path.isdir(root):
        raise UsageError(f"{root} is not a directory" if os.path.lexists(root) else f"{root} does not exist")
    files = Files(os.path.realpath(root))
    _enter(files, files.root, "", 0)
    return files


def _enter(files: Files, directory: str, prefix: str, depth: int) -> None:
    try:
        with os.scandir(directory) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        files.problems.append(FolderProblem(prefix or ".", 0, f"cannot be read: {reason}", stops=True))
        return
    for entry in inside:
        if entry.name in BESIDE and entry.is_file(follow_symlinks=False):
            files.beside.append((prefix, entry.path))
        if entry.name.startswith(".") or entry.name in SKIPPED:
            continue
        path = prefix + unicodedata.normalize("NFC", entry.name)
        if problem := _take(files, entry, path, depth):
            files.problems.append(FolderProblem(path if path.isprintable() else ascii(path), 0, problem))


def _take(files: Files, entry: os.DirEntry[str], path: str, depth: int) -> str | None:
    """Takes a file, or all of a directory; what is wrong with it, else None."""
    if not entry.name.isprintable():
        return "is left out: its name has signs that cannot be shown"
    try:
        is_link, is_directory, is_file = entry.is_symlink(), entry.is_dir(), entry.is_file()
    except OSError as error:
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    if is_link:
        target = os.path.realpath(entry.path)
        if os.path.commonpath([files.root, target]) != files.root:
            return "is left out: it is a link that leads out of the directory"
        if is_directory:
            return "is left out: it is a link to a directory"
    if is_directory:
        if depth >= DEEPEST:
            return f"is left out: more than {DEEPEST} directories in one another"
        _enter(files, entry.path, path + "/", depth + 1)
    elif is_file:
        if len(files.found) >= MOST_FILES:
            raise UsageError(f"{files.root}: more than {MOST_FILES} files")
        files.found[path] = entry.path
        if path.lower().endswith(PROGRAMS):
            return f"is left out: pages are read from {' and '.join(PAGES)} files"
    return None


def excluder(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path is excluded by patterns as .gitignore has them; a later one wins, and `!` takes one back."""
    rules = [(not line.startswith("!"), _compiled(line.removeprefix("!"))) for line in patterns if line.strip()]

    def is_excluded(path: str) -> bool:
        excluded = False
        for says, pattern in rules:
            if excluded is not says and pattern.match(path):
                excluded = says
        return excluded

    return is_excluded


def _compiled(pattern: str) -> re.Pattern[str]:
    words = pattern.strip()
    rooted = "/" in words.rstrip("/")
    below = words.endswith("/")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", words.strip("/"))
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    regex = "".join(signs.get(part) or re.escape(part) for part in parts)
    return re.compile(("" if rooted else "(?:.*/)?") + regex + ("/" if below else "(?:/|$)"))
