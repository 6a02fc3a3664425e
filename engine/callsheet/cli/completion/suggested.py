"""Which words of a site complete a parameter, as the definition of its lookup says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...language.deployment import on_deployment
from ...language.identifier import to_identifier
from ...patterns import lazy_pattern
from ...registry import SITE_SETTINGS

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.commands import Param
    from ...language.shape.steps import ListedWords

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")


def suggested_words(catalog: Catalog, lookup: str, deployment: str) -> ListedWords | None:
    """The lookup as it lists words: `call`, `args`, `items`, `where`, `word` and `label`; None where it does not.

    A lookup that says nothing of it lists what it calls, where that call is not for one word and a candidate is found
    by its label.
    """
    here = on_deployment(catalog.get("lookup", lookup), deployment)
    said = here.get("suggest", {})
    left = ("args", "items", "where") if "call" in said else ()  # another call, with arguments and an answer of its own
    found = cast("ListedWords", {**{key: value for key, value in here.items() if key not in left}, **said})
    if found.get("label") in here.get("match", ()):
        found.setdefault("word", found["label"])
    needs_word = "word" in names_in(found.get("args"))
    return found if "call" in found and "word" in found and not needs_word else None


def names_in(value: Any) -> set[str]:
    """Every name in the expressions of a value, and some words that are none: enough to see what it may depend on."""
    if isinstance(value, str):
        return set(_NAME.findall(value[value.find("{") :])) if "{" in value else set()
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return {name for part in parts for name in names_in(part)}


def values_depended_on(
    table: ListedWords, params: Sequence[Param], typed: Mapping[str, Any], setting: Any
) -> dict[str, str] | None:
    """Parameter → what was typed for it, or is the site's setting, of those that the list depends on.

    None where one is missing. Of several values the first one counts.
    """
    names = names_in(table.get("args"))
    found: dict[str, str] = {}
    for name in {*(each["name"] for each in params), *SITE_SETTINGS}:
        if to_identifier(name) not in names:
            continue
        value = typed.get(name)
        word = next(iter(value), None) if isinstance(value, list | tuple) else value
        if not word and name in SITE_SETTINGS:
            word = setting(name)
        if not word:
            return None
        found[name] = str(word)
    return found
