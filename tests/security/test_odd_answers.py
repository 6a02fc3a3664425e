"""Every expression of the shipped definitions over answers that documents of the vendor allow, and over all others.

What may be missing by the document of an operation is no fault of its answer: the definition copes. Of an answer that
is not as its document says, a person is told what to look at in it, never what failed inside.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.request.http_request import Request
from callsheet.errors import UsageError
from callsheet.language.parameters import to_identifier
from callsheet.language.template import UnfitValue, evaluate, evaluate_part, fill_template
from support.cases import nobody
from support.draws import chance
from support.published import DOCUMENTS, SPECS, document
from support.sampled import sampled
from support.wrong_parts import ODD, places, with_part

pytestmark = [pytest.mark.draws, pytest.mark.skipif(not SPECS.is_dir(), reason="the documents are not here")]
INTERNALS = re.compile(r"In function|NoneType|unhashable|object is not|has no attribute|\w requires \"|Traceback")
_DEEPEST = 6
_TEXTS = ("", "x", "10", "2026-01-31", "2026-01-31T09:30:00.000+0000")
Schema = Mapping[str, Any]


class Answers:
    """Answers of operations as their documents describe them."""

    def __init__(self, catalog: Catalog, source: random.Random) -> None:
        self.catalog, self.source = catalog, source

    def of(self, operation: str) -> Any:
        """None where no document describes it."""
        method, path = self.catalog.operations.get(operation)["http"].split()
        place = next((start for start in DOCUMENTS if path.startswith(start)), None)
        if place is None:
            return None
        self.resolve: Callable[[Any], Any] = document(*DOCUMENTS[place]).resolve
        found = document(*DOCUMENTS[place]).find(Request(method, "", re.sub(r"\{[^}]+\}", "1", path)))
        replies = found[0]["responses"] if found else {}
        reply = self.resolve(next((replies[code] for code in replies if code.startswith("2")), {}))
        media = next((each for name, each in reply.get("content", {}).items() if "json" in name), {})
        return self.value(media.get("schema", {}), 0)

    def value(self, schema: Any, depth: int) -> Any:
        schema = self.resolve(schema)
        for word in ("oneOf", "anyOf"):
            if schema.get(word):
                return self.value(self.source.choice(schema[word]), depth)
        if schema.get("allOf"):
            parts = [self.value(part, depth) for part in schema["allOf"]]
            tables = [part for part in parts if isinstance(part, dict)]
            return {key: each for part in tables for key, each in part.items()} if tables else parts[0]
        if schema.get("nullable") and self.source.random() < 0.5:
            return None
        if "enum" in schema:
            return self.source.choice(schema["enum"])
        match schema.get("type") or ("object" if "properties" in schema else None):
            case "object":
                return self.table(schema, depth)
            case "array":
                amount = 0 if depth > _DEEPEST else self.source.choice((0, 1, 2))
                return [self.value(schema.get("items", {}), depth + 1) for _ in range(amount)]
            case "string":
                return self.source.choice(_TEXTS)
            case "integer":
                return self.source.choice((0, 1, 98401))
            case "number":
                return self.source.choice((0, 1.5))
            case "boolean":
                return self.source.random() < 0.5
        return self.source.choice((None, "x", {}))

    def table(self, schema: Schema, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        kept = 0.8 if depth < _DEEPEST else 0.0
        return {
            name: self.value(part, depth + 1)
            for name, part in schema.get("properties", {}).items()
            if name in required or self.source.random() < kept
        }


class Refused(Exception):
    """The command ends here."""


class Walk:
    """The steps of a command, taken without sending anything. `faults` are expressions that could not cope."""

    def __init__(self, catalog: Catalog, answers: Answers, change: Callable[[Any], Any]) -> None:
        self.catalog, self.answers, self.change = catalog, answers, change
        self.faults: dict[str, str] = {}

    def command(self, command: Mapping[str, Any]) -> None:
        names = {to_identifier(param["name"]): self.given(param) for param in command.get("params", ())}
        site = {"name": "demo", "deployment": "cloud", "project": None, "board": None, "journal": "many"}
        scope = {**names, "given": dict(names), "named": dict(names), "site": site, "output": "table"}
        last = self.steps(command.get("step", ()), scope)
        result = self.tried(fill_template, command["result"], scope) if "result" in command else last
        if "items" in command:
            result = self.tried(evaluate, command["items"], result)
        if "view" in command:
            self.rows(self.catalog.views.get(command["view"]), result)

    def given(self, param: Mapping[str, Any]) -> Any:
        """A word, or what a word means; nothing for most options."""
        if param.get("kind") != "argument" and self.answers.source.random() < 0.8:
            return None
        if "lookup" in param:
            word = self.lookup(self.catalog.lookups.get(param["lookup"]))
        else:
            makes_table = param.get("convert") in ("adf", "json") or "assign" in param
            word = True if param.get("kind") == "flag" else {} if makes_table else "x"
        if "assign" in param:
            return word
        if param.get("removes"):
            return {"add": [word], "remove": None}
        return [word] if param.get("multiple") or param.get("split") else word

    def lookup(self, lookup: Mapping[str, Any]) -> Any:
        """What the first candidate stands for, or a word."""
        if "call" not in lookup:
            return "1"
        found = self.listed(lookup, self.change(self.answers.of(lookup["call"])))
        parts = [*lookup.get("match", ()), *(lookup[key] for key in ("where", "label") if key in lookup)]
        for item in (each for each in found if isinstance(each, dict)):
            for part in parts:
                self.tried(evaluate, part, item)
            if "sole" in lookup:
                self.tried(evaluate, lookup["sole"], {**item, "word": "x"})
        value = self.tried(evaluate, lookup["value"], found[0]) if found and "value" in lookup else None
        return "1" if value is None else value

    def listed(self, table: Mapping[str, Any], answer: Any) -> list[Any]:
        """The items of a table that says where they are, else those of the operation's pages."""
        items = table.get("items")
        if items is None:
            paging = self.catalog.operations.get(table["call"]).get("paginate")
            items = self.catalog.paginators.get(paging).get("items") if isinstance(paging, str) else None
        found = answer if items is None else self.tried(evaluate, items, answer)
        return found if isinstance(found, list) else []

    def snapshot(self, snapshot: Mapping[str, Any]) -> None:
        answer = self.change(self.answers.of(snapshot["call"]))
        for item in self.listed(snapshot, answer) if "items" in snapshot else [answer]:
            scope = {
                "found": item,
                "site": {"deployment": "cloud"},
                "wanted": ["labels"],
                "issue": "DEMO-1",
                "who": "x",
                "where": ["f"],
            }
            if "names" in snapshot:
                self.tried(evaluate, snapshot["names"], item)
            was = self.tried(evaluate, snapshot["state"], scope)
            if isinstance(was, dict):
                self.steps(snapshot.get("undo", ()), {"thing": "1", "was": was, "site": scope["site"]})

    def steps(self, steps: Any, scope: dict[str, Any]) -> Any:
        last = None
        for step in steps:
            if "when" in step and not self.tried(evaluate, step["when"], scope):
                continue
            if "each" in step:
                last = self.each(step["each"], scope)
            elif "call" in step:
                if "batch" in step:
                    self.tried(evaluate, step["batch"]["items"], scope)
                    scope = {**scope, step["batch"].get("as", "item"): {}}
                for key in ("args", "body", "over", "files", "save", "hold"):
                    self.tried(fill_template, step.get(key), scope)
                last = self.answer(step, scope)
            elif "value" in step:
                last = self.tried(evaluate, step["value"], scope, ends=True)
            elif "find" in step:
                last = {"value": self.lookup(self.catalog.lookups.get(step["find"]["lookup"])), "name": "x"}
            else:
                for key in ("edit", "fail", "hint", "note", "confirm"):
                    self.tried(fill_template, step.get(key), scope)
                last = "" if "edit" in step else last
                if "fail" in step:
                    raise Refused
            named = step.get("as")
            if isinstance(named, dict):
                scope.update({name: self.tried(evaluate_part, part, last, scope) for name, part in named.items()})
            elif named:
                scope[named] = last
        return last

    def answer(self, step: Mapping[str, Any], scope: dict[str, Any]) -> Any:
        answer = self.change(self.answers.of(step["call"]))
        if self.catalog.operations.get(step["call"]).get("paginate"):
            answer = self.listed({"call": step["call"]}, answer)
        return self.tried(evaluate_part, step["value"], answer, scope) if "value" in step else answer

    def each(self, each: Mapping[str, Any], scope: dict[str, Any]) -> Any:
        items = self.tried(evaluate, each["items"], scope)
        inner = {**scope, each.get("item", "item"): items[0] if isinstance(items, list) and items else "1"}
        last = self.steps(each["step"], inner)
        return [self.tried(fill_template, each["result"], inner) if "result" in each else last]

    def rows(self, view: Mapping[str, Any], result: Any) -> None:
        for row in result if isinstance(result, list) else [result]:
            if isinstance(row, dict):
                for column in view["columns"]:
                    self.tried(evaluate, column["value"], row)

    def tried(self, work: Callable[..., Any], *given: Any, ends: bool = False) -> Any:
        try:
            return work(*given)
        except UnfitValue as error:
            self.faults[error.problem] = error.message
        except UsageError:  # what was typed is none; later steps see the value where it `ends` the command
            if ends:
                raise Refused from None
        return None


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    found = open_catalog("suite", nobody(tmp_path_factory))
    yield found
    found.close()


TIMES = pytest.mark.parametrize("times", sampled([2, 8], 2))


def walked(catalog: Catalog, source: random.Random, change: Callable[[Any], Any], times: int) -> dict[str, str]:
    faults: dict[str, str] = {}
    for kind in ("command", "lookup", "snapshot"):
        tables = catalog.records_of_kind(kind)
        assert tables
        for id, table in tables.items():
            for _ in range(0 if "builtin" in table else times):
                walk = Walk(catalog, Answers(catalog, source), change)
                with suppress(Refused):
                    getattr(walk, kind)(table)
                faults |= {f'{kind} "{id}": {problem}': message for problem, message in walk.faults.items()}
    return faults


@TIMES
def test_what_a_document_allows_is_no_fault(catalog: Catalog, times: int) -> None:
    assert walked(catalog, chance(16), lambda answer: answer, times=times) == {}


@TIMES
def test_what_no_document_allows_is_told_in_a_persons_terms(catalog: Catalog, times: int) -> None:
    source = chance(17)

    def change(answer: Any) -> Any:
        return with_part(answer, source.choice(list(places(answer))), source.choice(ODD))

    told = walked(catalog, source, change, times=times)
    assert told or times < 8  # two of each are too few to find one for every seed
    assert [message for message in told.values() if INTERNALS.search(message)] == []
