"""The files of a folder that are pages, and the navigation that a site of documentation says."""

from __future__ import annotations

import json
import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import UsageError
from ..steps.parameter_scope import PAGES
from .local_page import FolderProblem

# What generators of sites are told of order and titles: `mkdocs.yml`, `_category_.json`, `.pages`.
#
# These files are others' text as everything in the directory is: they give names and numbers, and tags of YAML that
# would run something stand for nothing.


SITE = ("mkdocs.yml", "mkdocs.yaml")
CATEGORY = ("_category_.json", "_category_.yml", "_category_.yaml")
ORDERED = (".pages", ".nav.yml")
BESIDE = frozenset((*CATEGORY, *ORDERED))
LONGEST = 1 << 20
MOST_ENTRIES = 50_000
DEEPEST = 20


@dataclass
class NavigationEntry:
    """One line of a navigation: a page, or a section with what is in it."""

    title: str
    path: str = ""
    inside: list[NavigationEntry] = field(default_factory=list)


@dataclass
class Navigation:
    """`titles` of directories (with a slash); `orders` of pages and directories, smaller first."""

    entries: list[NavigationEntry] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    orders: dict[str, float] = field(default_factory=dict)
    problems: list[FolderProblem] = field(default_factory=list)


def site_of(root: str) -> tuple[str, Navigation]:
    """The directory of the pages, and the navigation that a generator's file in the root or right above it says."""
    navigation = Navigation()
    real = os.path.realpath(root)
    for folder in (real, os.path.dirname(real)):
        path = next((path for name in SITE if os.path.isfile(path := os.path.join(folder, name))), None)
        if path is None:
            continue
        said = _read_table(path, os.path.basename(path), navigation.problems if folder == real else [])
        pages = said.get("docs_dir", "docs")
        where = os.path.realpath(os.path.join(folder, pages)) if isinstance(pages, str) else folder
        is_inside = folder != where and where.startswith(real + os.sep)
        if where != real and not (folder == real and is_inside and os.path.isdir(where)):
            continue
        navigation.entries = list(_navigation_entries(said.get("nav"), [MOST_ENTRIES], 0))
        for key in ("exclude_docs",):
            if isinstance(said.get(key), str):
                navigation.exclude += [line for line in said[key].splitlines() if line.strip()[:1] not in ("", "#")]
        return where, navigation
    return real, navigation


def take_beside(navigation: Navigation, directory: str, path: str) -> None:
    """Takes what a file beside the pages of a directory (with a slash, or empty) says of them."""
    name = os.path.basename(path)
    said = _read_table(path, directory + name, navigation.problems)
    title = said.get("label" if name in CATEGORY else "title")
    if isinstance(title, str) and title.strip():
        navigation.titles[directory] = " ".join(title.split())
    position = said.get("position")
    if isinstance(position, int | float) and not isinstance(position, bool):
        navigation.orders[directory] = float(position)
    for number, item in enumerate(_items_of_value(said.get("nav") if name in ORDERED else None)):
        words = next(iter(item.values()), None) if isinstance(item, dict) else item
        if isinstance(words, str) and words != "...":
            for key in (directory + words, directory + words + "/"):
                navigation.orders[posixpath.normpath(key) + ("/" if key.endswith("/") else "")] = float(number)


def _items_of_value(value: Any) -> list[Any]:
    return value[:MOST_ENTRIES] if isinstance(value, list) else []


def _navigation_entries(value: Any, left: list[int], depth: int) -> Iterator[NavigationEntry]:
    for item in _items_of_value(value):
        left[0] -= 1
        if left[0] < 0 or depth > DEEPEST:
            return
        if isinstance(item, str):
            yield NavigationEntry("", posixpath.normpath(item))
        elif isinstance(item, Mapping):
            for title, inner in item.items():
                if isinstance(inner, str):
                    yield NavigationEntry(str(title), posixpath.normpath(inner))
                elif isinstance(inner, list):
                    yield NavigationEntry(
                        " ".join(str(title).split()), "", list(_navigation_entries(inner, left, depth + 1))
                    )


def _read_table(path: str, shown: str, problems: list[FolderProblem]) -> dict[str, Any]:
    """The table in a file of JSON or YAML; empty, and a problem, where it is none."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            words = file.read(LONGEST)
        found = json.loads(words) if path.endswith(".json") else _parse_yaml(words)
    except OSError as error:
        problems.append(FolderProblem(shown, 0, f"cannot be read: {(error.strerror or str(error)).lower()}"))
        return {}
    except (ValueError, RecursionError) as error:
        problems.append(FolderProblem(shown, 0, f"cannot be read: {str(error).splitlines()[0]}"))
        return {}
    return found if isinstance(found, dict) else {}


def _parse_yaml(words: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """A tag that is not known stands for nothing."""

    Loader.add_multi_constructor("", lambda *_given: None)
    loader = Loader(words)
    try:
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    finally:
        loader.dispose()


# The files of a directory, without what is hidden and without what leads out of it.


PROGRAMS = (".mdx",)  # pages that are programs
SKIPPED = frozenset({"node_modules", "__pycache__"})
MOST_FILES = 200_000
DEEPEST_DIRECTORY = 60


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

    def page_paths(self, exclude: Sequence[str]) -> list[str]:
        is_excluded = path_excluder(exclude)
        return [path for path in self.found if path.lower().endswith(PAGES) and not is_excluded(path)]


def walk_directory(root: str) -> Files:
    """Raises `UsageError` for a root that is no directory."""
    if not os.path.isdir(root):
        raise UsageError(f"{root} is not a directory" if os.path.lexists(root) else f"{root} does not exist")
    files = Files(os.path.realpath(root))
    _enter_directory(files, files.root, "", 0)
    return files


def _enter_directory(files: Files, directory: str, prefix: str, depth: int) -> None:
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
        if problem := _take_entry(files, entry, path, depth):
            files.problems.append(FolderProblem(path if path.isprintable() else ascii(path), 0, problem))


def _take_entry(files: Files, entry: os.DirEntry[str], path: str, depth: int) -> str | None:
    """Takes a file, or all of a directory; what is wrong with it, else None."""
    if not entry.name.isprintable():
        return "is left out: its name has characters that cannot be shown"
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
        if depth >= DEEPEST_DIRECTORY:
            return f"is left out: it is more than {DEEPEST_DIRECTORY} directories deep"
        _enter_directory(files, entry.path, path + "/", depth + 1)
    elif is_file:
        if len(files.found) >= MOST_FILES:
            raise UsageError(f"{files.root}: more than {MOST_FILES} files")
        files.found[path] = entry.path
        if path.lower().endswith(PROGRAMS):
            return f"is left out: pages are read from {' and '.join(PAGES)} files"
    return None


def path_excluder(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path is excluded by patterns as .gitignore has them; a later one wins, and `!` takes one back."""
    rules = [(not line.startswith("!"), _compile_pattern(line.removeprefix("!"))) for line in patterns if line.strip()]

    def is_excluded(path: str) -> bool:
        excluded = False
        for says, pattern in rules:
            if excluded is not says and pattern.match(path):
                excluded = says
        return excluded

    return is_excluded


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    words = pattern.strip()
    rooted = "/" in words.rstrip("/")
    below = words.endswith("/")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", words.strip("/"))
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    regex = "".join(signs.get(part) or re.escape(part) for part in parts)
    return re.compile(("" if rooted else "(?:.*/)?") + regex + ("/" if below else "(?:/|$)"))
