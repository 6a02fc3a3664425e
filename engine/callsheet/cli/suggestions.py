"""What to suggest for a word that is no command: what definitions say of it, a command elsewhere, a misspelt name.

A name that is merely alike may do something else (`close` and `clone`), so only what a slip of the fingers makes of a
name counts as misspelt.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from ..commands.steps.addresses import is_url
from ..language.parameters import first_argument
from ..language.safety import CHANGES

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog, Child
    from ..language.shape.commands import GroupDefinition, ProgramDefinition

_MOST_NAMED = 3  # commands that a hint names
_MOST_WORDS = 2  # of what `instead` explains: `comment add`
_LEAST_START = 3  # letters that a name must have in common with a word that is its beginning
_SHORT = 5  # letters of a name in which one slip is much


def suggest_commands(catalog: Catalog, path: str, words: Sequence[str]) -> list[str]:
    """Command lines, without the program's name, for words that are no command of the group `path`; the best first."""
    word = words[0].casefold()
    children = {child.name: child for child in catalog.children(path)}
    instead = _instead(catalog, path)
    found = (
        instead.get(" ".join(words[:_MOST_WORDS]).casefold())
        or instead.get(word)
        or _same_verb(catalog, path, word, children)
        or _in_groups(catalog, path, word, children)
        or _misspelt(catalog, path, word, children)
        or _shown_by(catalog, path, words, children)
    )
    return found[:_MOST_NAMED]


def command_for_bare_word(catalog: Catalog, path: str, word: str) -> str | None:
    """The name of the group's command whose first argument is the word, as its lookup knows by looking at it."""
    for name in _group(catalog, path).get("bare", ()):
        argument = first_argument(catalog.get("command", f"{path} {name}".strip()))
        lookup = catalog.get("lookup", argument["lookup"]) if argument is not None else {}
        if is_url(word):
            known = any(re.search(url, word) for url in lookup.get("urls", ()))
        else:  # at the top a mere number says nothing of what it is
            known = re.fullmatch(lookup.get("pattern", "(?!)"), word) is not None and (path != "" or not word.isdigit())
        if known:
            return name
    return None


def _group(catalog: Catalog, path: str) -> GroupDefinition | ProgramDefinition:
    return catalog.get("group", path) if path else catalog.get("program", catalog.program)


def _shown_by(catalog: Catalog, path: str, words: Sequence[str], children: Mapping[str, Child]) -> list[str]:
    """The command that shows the thing with this name, in a group that cannot tell names from misspelt commands."""
    verbs = catalog.get("program", catalog.program).get("verbs", {})
    word, *more = takewhile(lambda each: not each.startswith("-"), words)
    is_name = not more and not any(word.casefold() in (verb, *others) for verb, others in verbs.items())
    found = is_name and "get" in children and path and not _group(catalog, path).get("bare")
    return [f"{path} get {shlex.quote(word)}"] if found else []


def _instead(catalog: Catalog, path: str) -> Mapping[str, list[str]]:
    return _group(catalog, path).get("instead", {})


def _same_verb(catalog: Catalog, path: str, word: str, children: Mapping[str, Child]) -> list[str]:
    """The command of the group that does what the word means in any group."""
    verbs = catalog.get("program", catalog.program).get("verbs", {})
    known = {name for child in children.values() if not child.hidden for name in _names(child)}
    found = next((name for name in verbs.get(word, ()) if name in known), None)
    return [f"{path} {found}"] if path and found else []


def _in_groups(catalog: Catalog, path: str, word: str, children: Mapping[str, Child]) -> list[str]:
    """Commands of that name one level further down, or what is said of it there; nothing where many groups have one."""
    groups = [
        f"{path} {name}".strip() for name, child in children.items() if child.kind == "group" and not child.hidden
    ]
    named = [f"{group} {word}" for group in groups if any(word in _names(child) for child in catalog.children(group))]
    found = named or [line for group in groups for line in _instead(catalog, group).get(word, ())]
    return found if len(found) <= _MOST_NAMED else []


def _names(child: Child) -> tuple[str, ...]:
    return (child.name, *child.aliases)


def _misspelt(catalog: Catalog, path: str, word: str, children: Mapping[str, Child]) -> list[str]:
    """Names that the word is a slip or the beginning of, each command once, the nearest first."""
    of_name: dict[str, Child | None] = {name: child for child in children.values() for name in _names(child)}
    aliases = catalog.get("program", catalog.program).get("aliases", {}) if not path else {}
    of_name |= dict.fromkeys(aliases)
    near: dict[str, tuple[int, bool, str]] = {}
    for name, child in of_name.items():
        slips = _slips(word, name, changes=_changes(catalog, path, child))
        if slips is not None:
            command = child.name if child else name
            near[command] = min((slips, name != command, name), near.get(command, (slips, True, name)))
    return [f"{path} {name}".strip() for _, _, name in sorted(near.values())]


def _changes(catalog: Catalog, path: str, child: Child | None) -> bool:
    if child is None or child.kind == "group":
        return False
    return catalog.get("command", f"{path} {child.name}".strip())["safety"] in CHANGES


def _slips(word: str, name: str, *, changes: bool) -> int | None:
    """How many slips lead from the name to the word; None where it is another word.

    With letters in front it is the opposite (`unassign`). Where the command changes something, one slip is allowed, and
    another letter in a short name makes another word (`close`, `clone`).
    """
    word, name = _letters(word), _letters(name)
    if len(word) >= _LEAST_START and (name.startswith(word) or (word.startswith(name) and len(name) >= _LEAST_START)):
        return 0 if word == name else abs(len(name) - len(word))
    if word.endswith(name):
        return None
    another_letter = len(word) == len(name) and sorted(word) != sorted(name)
    most = 0 if len(name) < _LEAST_START else 1 if changes or len(name) <= _SHORT else 2
    if changes and another_letter and len(name) <= _SHORT:
        return None
    slips = _distance(word, name)
    return slips if slips <= most else None


def _letters(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))


def _distance(one: str, other: str) -> int:
    """Letters that are missing, too many, other ones or swapped."""
    above: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for i, letter in enumerate(one, 1):
        before, above = above, row
        row = [i]
        for j, another in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != another))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
    return row[-1]
