"""What to suggest for a word that is no command, or that the site refused."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ..commands.context import Context
from ..commands.steps.lookup import is_url
from ..errors import CallsheetError, NoMatch, closest_names
from ..language.parameters import TAKEN_AWAY, argument_name, first_argument
from ..language.query_text import EXCEPT
from ..language.safety import CHANGES
from ..language.template import TemplateError
from ..patterns import lazy_pattern

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog, Child
    from ..language.shape.commands import GroupDefinition, Param, ProgramDefinition


# What to suggest for a word that is no command: what definitions say of it, a command elsewhere, a misspelt name.
#
# A name that is merely alike may do something else (`close` and `clone`), so only what a slip of the fingers makes
# of a name counts as misspelt.


_MOST_NAMED = 3  # commands that a hint names
_MOST_WORDS = 2  # of what `instead` explains: `comment add`
_LEAST_START = 3  # letters that a name must have in common with a word that is its beginning
_SHORT = 5  # letters of a name in which one slip is much


def suggest_commands(catalog: Catalog, path: str, words: Sequence[str]) -> list[str]:
    """Command lines, without the program's name, for words that are no command of the group `path`; the best first."""
    word = words[0].casefold()
    children = {child.name: child for child in catalog.children_of(path)}
    instead = _suggested_instead(catalog, path)
    found = (
        instead.get(" ".join(words[:_MOST_WORDS]).casefold())
        or instead.get(word)
        or _same_verb(catalog, path, word, children)
        or _in_groups(catalog, path, word, children)
        or _near_names(catalog, path, word, children)
        or _shown_by(catalog, path, words, children)
    )
    return found[:_MOST_NAMED]


def command_for_bare_word(catalog: Catalog, path: str, word: str) -> str | None:
    """The name of the group's command whose first argument is the word, as its lookup knows by looking at it."""
    for name in _group_at(catalog, path).get("bare", ()):
        argument = first_argument(catalog.commands.get(f"{path} {name}".strip()))
        lookup = catalog.lookups.get(argument["lookup"]) if argument is not None else {}
        if is_url(word):
            known = any(re.search(url, word) for url in lookup.get("urls", ()))
        else:  # at the top a mere number says nothing of what it is
            known = re.fullmatch(lookup.get("pattern", "(?!)"), word) is not None and (path != "" or not word.isdigit())
        if known:
            return name
    return None


def _group_at(catalog: Catalog, path: str) -> GroupDefinition | ProgramDefinition:
    return catalog.groups.get(path) if path else catalog.programs.get(catalog.program)


def _shown_by(catalog: Catalog, path: str, words: Sequence[str], children: Mapping[str, Child]) -> list[str]:
    """The command that shows the thing with this name, in a group that cannot tell names from misspelt commands."""
    verbs = catalog.programs.get(catalog.program).get("verbs", {})
    word, *more = takewhile(lambda each: not each.startswith("-"), words)
    is_name = not more and not any(word.casefold() in (verb, *others) for verb, others in verbs.items())
    of_get = children["get"].kind if "get" in children else ""
    if not is_name or not path or of_get != "command" or _group_at(catalog, path).get("bare"):
        return []
    takes_a_name = first_argument(catalog.commands.get(f"{path} get")) is not None
    return [f"{path} get {shlex.quote(word)}"] if takes_a_name else []


def _suggested_instead(catalog: Catalog, path: str) -> Mapping[str, list[str]]:
    return _group_at(catalog, path).get("instead", {})


def _same_verb(catalog: Catalog, path: str, word: str, children: Mapping[str, Child]) -> list[str]:
    """The command of the group that does what the word means in any group."""
    verbs = catalog.programs.get(catalog.program).get("verbs", {})
    known = {name for child in children.values() if not child.hidden for name in _names_of_child(child)}
    found = next((name for name in verbs.get(word, ()) if name in known), None)
    return [f"{path} {found}"] if path and found else []


def _in_groups(catalog: Catalog, path: str, word: str, children: Mapping[str, Child]) -> list[str]:
    """Commands of that name one level further down, or what is said of it there; nothing where many groups have one."""
    groups = [
        f"{path} {name}".strip() for name, child in children.items() if child.kind == "group" and not child.hidden
    ]
    named = [
        f"{group} {word}"
        for group in groups
        if any(word in _names_of_child(child) for child in catalog.children_of(group))
    ]
    found = named or [line for group in groups for line in _suggested_instead(catalog, group).get(word, ())]
    return found if len(found) <= _MOST_NAMED else []


def _names_of_child(child: Child) -> tuple[str, ...]:
    return (child.name, *child.aliases)


def _near_names(catalog: Catalog, path: str, word: str, children: Mapping[str, Child]) -> list[str]:
    """Names that the word is a slip or the beginning of, each command once, the nearest first."""
    of_name: dict[str, Child | None] = {name: child for child in children.values() for name in _names_of_child(child)}
    aliases = catalog.programs.get(catalog.program).get("aliases", {}) if not path else {}
    of_name |= dict.fromkeys(aliases)
    near: dict[str, tuple[int, bool, str]] = {}
    for name, child in of_name.items():
        slips = _count_slips(word, name, changes=_child_changes(catalog, path, child))
        if slips is not None:
            command = child.name if child else name
            near[command] = min((slips, name != command, name), near.get(command, (slips, True, name)))
    return [f"{path} {name}".strip() for _, _, name in sorted(near.values())]


def _child_changes(catalog: Catalog, path: str, child: Child | None) -> bool:
    if child is None or child.kind == "group":
        return False
    return catalog.commands.get(f"{path} {child.name}".strip())["safety"] in CHANGES


def _count_slips(word: str, name: str, *, changes: bool) -> int | None:
    """How many slips lead from the name to the word; None where it is another word.

    With letters in front it is the opposite (`unassign`). Where the command changes something, one slip is allowed, and
    another letter in a short name makes another word (`close`, `clone`).
    """
    word, name = _letters_only(word), _letters_only(name)
    if len(word) >= _LEAST_START and (name.startswith(word) or (word.startswith(name) and len(name) >= _LEAST_START)):
        return 0 if word == name else abs(len(name) - len(word))
    if word.endswith(name):
        return None
    another_letter = len(word) == len(name) and sorted(word) != sorted(name)
    most = 0 if len(name) < _LEAST_START else 1 if changes or len(name) <= _SHORT else 2
    if changes and another_letter and len(name) <= _SHORT:
        return None
    slips = _edit_distance(word, name)
    return slips if slips <= most else None


def _letters_only(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))


def _edit_distance(one: str, other: str) -> int:
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


# Which word of a site was meant by one that the site refused: the closest of those that complete the parameter.


_REFUSED = (400, 404)
_WORD = lazy_pattern(r"\w+")
_QUOTED = lazy_pattern(r"'([^']+)'|\"([^\"]+)\"")


def nearest_word(
    context: Context, params: Sequence[Param], values: Mapping[str, Any], error: CallsheetError
) -> str | None:
    """A hint with the word that was meant, where the site's answer is about a parameter that lists its words.

    Where the answer is about a parameter that was left out, the hint names that. The site is asked for its words
    only then: it checks words itself, and most commands are right.
    """
    if isinstance(error, NoMatch):
        refusal, unknown = error.message, True
        if error.details or "did you mean" in refusal:  # it was compared with what there is
            return None
    elif error.status in _REFUSED:
        refusal, unknown = " ".join((error.message.rpartition(f"{error.status}:")[2], *error.details)), False
    else:
        return None
    quoted = [one or other for one, other in _QUOTED.findall(refusal)]
    named = {word.casefold() for word in _WORD.findall(refusal)}
    for param in params:
        for word in _typed_words(param, values.get(param["name"])):
            about = word in quoted or (param["name"] in named and not quoted)
            if about and (found := _closest_word(context, param, params, values, word, unknown=unknown)):
                shown = argument_name(param) if param.get("kind") == "argument" else f"--{param['name']}"
                return f"{shown}: did you mean {found!r}?"
        if not unknown and not values.get(param["name"]) and refusal.strip().startswith(f"{param['name']}:"):
            return f"pass --{param['name']} {param.get('metavar', '')}".rstrip()
    return _word_of_query(context, params, values, quoted)


def _word_of_query(
    context: Context, params: Sequence[Param], values: Mapping[str, Any], quoted: Sequence[str]
) -> str | None:
    """A field, a function or a value that was meant by a quoted word of what was typed, in a command with a query."""
    languages = dict.fromkeys(param["query"] for param in params if "query" in param)
    typed = "\n".join(
        word for param in params for word in _typed_words({**param, "split": False}, values.get(param["name"]))
    )
    for language in (context.catalog.query_languages.get(id) for id in languages):
        for word in (each for each in quoted if each in typed):
            near: list[str] = []
            for field in (each for each in quoted if each != word and not near):
                near = closest_names(
                    word, _listed_words(context, language.get("values"), {"field": field, "start": word[0]})
                )
            if not near:
                names = [*language.get("names", ()), *_listed_words(context, language.get("words"), {})]
                known = {each.casefold() for each in names}
                if not any(each.casefold() in known for each in quoted if each != word):  # else it is a value of that
                    near = closest_names(word, names)
            if near and near[0].casefold() != word.casefold():
                return f"{word}: did you mean {near[0]!r}?"
    return None


def _listed_words(context: Context, lookup: str | None, needed: Mapping[str, str]) -> list[str]:
    """The words that the site lists; none where it does not tell."""
    from .completion.refresh import words_of

    with suppress(CallsheetError, TemplateError, KeyError, TypeError, ValueError):
        if lookup is not None:
            return [word for word, _ in words_of(context, {"lookup": lookup, "needed": needed, "params": []})]
    return []


def _typed_words(param: Param, given: Any) -> Iterator[str]:
    for text in given if isinstance(given, list | tuple) else [given]:
        if isinstance(text, str):
            for word in text.split(",") if param.get("split") else [text]:
                yield word.strip().removeprefix(
                    EXCEPT if param.get("excludes") else TAKEN_AWAY if param.get("removes") else ""
                )


def _was_taken_as_it_is(context: Context, lookup: str, word: str) -> bool:
    """Whether a word that looks like an id was not looked up; a number is near no other one."""
    pattern = context.catalog.lookups.get(lookup).get("pattern")
    return pattern is not None and re.fullmatch(pattern, word) is not None and not any(map(str.isdigit, word))


def _closest_word(
    context: Context, param: Param, params: Sequence[Param], values: Mapping[str, Any], word: str, *, unknown: bool
) -> str | None:
    """None where the site has the word, has none that is near, or does not tell. An `unknown` one was looked up."""
    lookup = param.get("suggest", param.get("lookup"))
    if lookup is None or not (unknown or "suggest" in param or _was_taken_as_it_is(context, lookup, word)):
        return None
    from .completion.refresh import words_of
    from .completion.site_words import suggested_words, values_depended_on

    with suppress(CallsheetError, TemplateError, KeyError, TypeError, ValueError):
        site = context.site()
        table = suggested_words(context.catalog, lookup, site.deployment)
        needed = None if table is None else values_depended_on(table, params, values, site.default_of)
        if needed is None:
            return None
        asked = [{"name": each["name"], "lookup": each.get("lookup")} for each in params if each["name"] in needed]
        rows = words_of(context, {"lookup": lookup, "needed": needed, "params": asked})
        known = {found: found for found, _ in rows}
        if unknown:  # things that are called by ids have their names beside these; a name may be one of its words
            names = [name for row in rows for name in row if name]
            known |= {part: name for name in names for part in (*name.split(), name)}
        if word.casefold() not in map(str.casefold, known):
            return next((known[found] for found in closest_names(word, known)), None)
    return None
