"""Definitions that are changed a little, each in one place, by what the shapes know of that place.

A mutant is a file of definitions with one fault or oddity: a wrong type, a key that is missing, unknown or misspelt, a
name that nothing has, an expression that does not parse, something that is shadowed or never reached, or an overlay
that takes away or changes what others need.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from callsheet.language.checks.references import allowed_keys, shape_places
from callsheet.language.scopes import names_in, root_names

from .mutant_spots import Files, Mutant, Spot, Tables, is_closed, written
from .odd_mutants import ODD


def mutants(tables: Tables) -> list[Mutant]:
    """All of them, in a fixed order."""
    found: list[Mutant] = []
    for kind, definitions in tables.items():
        for id, table in definitions.items():
            for place in shape_places(kind, table):
                for operator in OPERATORS:
                    found.extend(operator(Spot(tables, kind, id, place)))
            found.extend(_across(tables, kind, id, table))
    return found


def misspelt(word: str) -> str:
    """Without its second letter, or with its last one twice: near enough to be meant, and another word."""
    return word[0] + word[2:] if len(word) > 3 and word[1] != word[0] else word + word[-1]


WRONG: dict[type, Any] = {str: 7, int: "seven", float: "x", bool: "yes", dict: [], list: {}}


def _wrong_type(spot: Spot) -> Iterator[Mutant]:
    value, path = spot.place.value, spot.place.path
    if path and "enum" not in path and path[:1] != ("required",):  # lists that are judged as a whole, or hold any value
        wrong = WRONG[type(value)]

        def change(parent: Any, key: Any) -> None:
            parent[key] = wrong

        # Where any value is allowed, another one is no fault, but what the old one named may be used nowhere else.
        operator = "other type" if spot.place.schema.get("format") == "value" else "wrong type"
        yield spot.changed(operator, change, repr(wrong))


def _missing(spot: Spot) -> Iterator[Mutant]:
    if spot.place.path:

        def change(parent: Any, key: Any) -> None:
            del parent[key]

        yield spot.changed("missing", change, "gone")


def _unknown(spot: Spot) -> Iterator[Mutant]:
    if is_closed(spot):
        yield spot.inside("unknown", lambda table: table.update(zzz=1), "zzz = 1", ("zzz",))


def _misspelt_key(spot: Spot) -> Iterator[Mutant]:
    if is_closed(spot):
        for key in spot.place.value:
            other = misspelt(key)
            if len(key) > 3 and other not in allowed_keys(spot.kind, spot.place.value, spot.place.path):

                def change(table: Any, key: str = key, other: str = other) -> None:
                    table[other] = table.pop(key)

                yield spot.inside("misspelt", change, f"{key} → {other}", (other,), near=key)


def _misspelt_name(spot: Spot) -> Iterator[Mutant]:
    """A reference, one of some words, or a name in an expression whose scope is known."""
    value, schema = spot.place.value, spot.place.schema
    if not isinstance(value, str):
        return
    if "reference" in schema or "enum" in schema:

        def change(parent: Any, key: Any) -> None:
            parent[key] = misspelt(value)

        yield spot.changed("misspelt", change, f"{value} → {misspelt(value)}", near=value)
    names = (
        list(root_names(value) if schema.get("format") == "jmespath" else names_in(value)) if "format" in schema else []
    )
    for name in dict.fromkeys(names):
        if "sees" in schema or (spot.kind == "command" and schema.get("format") != "jmespath"):

            def rename(parent: Any, key: Any, name: str = name) -> None:
                parent[key] = value.replace(name, misspelt(name))

            yield spot.changed("misspelt", rename, f"{name} → {misspelt(name)}", near=name)


def _misspelt_function(spot: Spot) -> Iterator[Mutant]:
    value = spot.place.value
    if isinstance(value, str) and spot.place.schema.get("format") in ("jmespath", "template", "value"):
        for name in ("upper", "slug", "join", "not_null", "to_number"):
            if f"{name}(" in value:

                def change(parent: Any, key: Any, name: str = name) -> None:
                    parent[key] = value.replace(f"{name}(", f"{misspelt(name)}(")

                def more(parent: Any, key: Any, name: str = name) -> None:
                    parent[key] = value.replace(f"{name}(", f"{name}(a, b, ")

                yield spot.changed("misspelt", change, f"{name}()", near=name)
                if name != "not_null":
                    yield spot.changed("arguments", more, f"{name}(a, b, ...)")


def _broken_syntax(spot: Spot) -> Iterator[Mutant]:
    value, form = spot.place.value, spot.place.schema.get("format")
    broken = {"jmespath": " ||", "template": "{", "value": "{", "regex": "("}.get(str(form))
    if isinstance(value, str) and broken:

        def change(parent: Any, key: Any) -> None:
            parent[key] = value + broken

        yield spot.changed("syntax", change, value + broken)


def _odd_text(spot: Spot) -> Iterator[Mutant]:
    value = spot.place.value
    if isinstance(value, str) and spot.place.path:

        def control(parent: Any, key: Any) -> None:
            parent[key] = f"{value}\u0007"

        def letters(parent: Any, key: Any) -> None:
            parent[key] = f"{value}é"

        yield spot.changed("control character", control, "with U+0007")
        if "pattern" in spot.place.schema:
            yield spot.changed("letters", letters, "with é")


def _odd_number(spot: Spot) -> Iterator[Mutant]:
    value = spot.place.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        for odd in (float("nan"), -1):

            def change(parent: Any, key: Any, odd: float = odd) -> None:
                parent[key] = odd

            yield spot.changed("number", change, str(odd))


def _shadowed(spot: Spot) -> Iterator[Mutant]:
    value = spot.place.value
    if isinstance(value, list) and value:

        def twice(items: Any) -> None:
            items.append(copy.deepcopy(items[0]))

        yield spot.inside("shadowed", twice, "the first item twice")
    if spot.place.path == ("cases",):

        def first(items: Any) -> None:
            items.insert(0, {"value": "{text}"})

        yield spot.inside("shadowed", first, "a case for everything first")
    if isinstance(value, list) and spot.place.path[-1:] == ("aliases",):

        def clash(items: Any) -> None:
            items.append("list" if spot.kind == "command" else "op")

        yield spot.inside("shadowed", clash, "an alias that is taken")


def _unreachable(spot: Spot) -> Iterator[Mutant]:
    if spot.place.schema.get("title") in ("StepDefinition", "ItemStep", "Case"):
        yield spot.inside("unreachable", lambda table: table.update(when="`false`"), "when false", ("when",))
    if spot.place.schema.get("title") == "Param" and spot.kind == "command":
        for name in ("output", "site", "max"):

            def change(param: Any, name: str = name) -> None:
                param["name"] = name

            yield spot.inside("shadowed", change, f"called {name}")


OPERATORS: tuple[Callable[[Spot], Iterator[Mutant]], ...] = (
    _wrong_type,
    _missing,
    _unknown,
    _misspelt_key,
    _misspelt_name,
    _misspelt_function,
    _broken_syntax,
    _odd_text,
    _odd_number,
    _shadowed,
    _unreachable,
    *ODD,
)


def _across(tables: Tables, kind: str, id: str, table: dict[str, Any]) -> Iterator[Mutant]:
    """A second file, laid over the world."""

    def over(what: str, change: Any, *, under: str = id, near: str = "") -> Mutant:
        build = partial(_over, tables, {kind: {under: change}})
        return Mutant(kind, "cross-file", f'{kind} "{id}": {what}', build, near)

    def extending(what: str, change: Any, *, under: str = id, near: str = "") -> Mutant:
        build = partial(_over, tables, {f"extend.{kind}": {under: change}})
        return Mutant(kind, "extending", f'{kind} "{id}": {what}', build, near)

    yield over("removed", {"remove": True})
    yield extending("a misspelt one extended", {}, under=misspelt(id), near=id)
    yield extending("extended by an unknown key", {"zzz": 1})
    yield over("a misspelt one removed", {"remove": True}, under=misspelt(id), near=id)
    first = next(iter(table), None)
    if first is not None:
        yield over(f"misspelt, with {first}", {first: table[first]}, under=misspelt(id))
        yield over(f"{first} of another type", {first: WRONG[type(table[first])]})
    for key, value in table.items():
        if isinstance(value, list) and value and isinstance(value[0], dict) and value[0].keys() - {"remove"} > {"name"}:
            gone = [{"name": misspelt(value[0]["name"]), "remove": True}]
            yield over(f"an item of {key} that is not there removed", {key: gone}, near=value[0]["name"])
            yield over(f"an item of {key} removed", {key: [{"name": value[0]["name"], "remove": True}]})


def _over(tables: Tables, overlay: Any) -> Files:
    return Files(written(tables), written(overlay))


def read_world(directory: Path) -> Tables:
    merged: Tables = {}
    for path in sorted(directory.glob("*.toml")):
        for kind, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            merged.setdefault(kind, {}).update(table)
    return merged
