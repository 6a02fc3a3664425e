"""Queries are read as the vendor's own parser reads them, and mean what they say."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.sandbox.query_languages import (
    Condition,
    Empty,
    Function,
    Grammar,
    Joined,
    Negation,
    QuerySyntaxError,
    Values,
)
from callsheet.sandbox.simulated_site import SandboxSite
from support.draws import chance
from support.simulated import ask, site

FIELDS = ["project", '"Story Points"', "status", "cf[10001]", "x.y", "a.b[k].c", "12", "-3", "'q q'", 'p["a b"]']
VALUES = ["Open", '"In Progress"', "-7d", "5", "1.5", "2024-01-02", "empty", "NULL", r'"a\"b"', "'it'", "me()"]
VALUES += ['of("a b", c)', "now( )", "ä", "a-b", "x@y", "a b", "order", '"x', "a/b", "select"]
OPERATORS = ["=", "!=", "~", "!~", ">", "<", ">=", "<=", "=="]


@pytest.fixture(scope="module")
def grammar(cache: Path) -> Grammar:
    with closing(open_catalog("suite", {"CALLSHEET_CACHE": str(cache)}, own=False)) as catalog:
        language = catalog.query_languages.get("jql")
    return Grammar(frozenset(language["reserved"]), language["numbered"])


@pytest.fixture(scope="module")
def cloud() -> Iterator[SandboxSite]:
    found = site()
    yield found
    found.close()


WRONG = {
    "project =": "expecting a value, a list or a function but got the end of the query (line 1, character 10)",
    "project": "expecting an operator",
    "a = b c": "expecting 'or', 'and' or 'order by' but got 'c' (line 1, character 7)",
    "a in (b,)": "but got ')'",
    "a = #b": "the character '#' is reserved",
    "a = select": "'select' is a reserved word",
    'a = "b': "the quoted text has not been completed",
    "a = b order": "expecting 'by'",
    "(a = b": "expecting ')'",
    "a is b": "expecting 'empty'",
    "cf[x] = 1": "the number of a field",
    "not " * 300 + "a = b": "nested too deeply",
    "a = " + "(" * 300: "expecting a value",
    "a in " + "(" * 300: "nested too deeply",
    "a =\n b\n c": "(line 3, character 2)",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_query_says_what_was_expected_and_where(grammar: Grammar, text: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        grammar.parse_query(text)
    assert WRONG[text] in str(caught.value)


MEANT = {
    "project = DEMO and sprint in openSprints()": ["DEMO-2", "DEMO-3", "DEMO-4", "DEMO-9"],
    "key in (DEMO-1, demo-2, 10002)": ["DEMO-1", "DEMO-2", "DEMO-3"],
    "key > DEMO-8": ["DEMO-9", "DEMO-10"],
    'summary ~ "bask*"': ["DEMO-3"],
    'text ~ "\\"basket is empty\\""': ["DEMO-3"],
    "labels = wish or labels in (urgent)": ["DEMO-8", "OPS-2"],
    "project = DEMO and labels is empty": ["DEMO-4", "DEMO-10"],
    "project = DEMO and labels not in (shop, checkout, regression, search, catalogue, ops, wish, mobile)": [],
    "project = DEMO and assignee is not empty and not (status = Done or priority in (Medium, Low))": [
        "DEMO-1",
        "DEMO-2",
        "DEMO-3",
    ],
    "assignee = currentUser() and statusCategory != Done": ["DEMO-1", "DEMO-3", "DEMO-10"],
    "assignee in membersOf(administrators) and project = DEMO": ["DEMO-1", "DEMO-3", "DEMO-10"],
    '"Story Points" >= 5': ["DEMO-2", "DEMO-5"],
    "cf[10016] = 8": ["DEMO-5"],
    "created >= -6d and project = DEMO": ["DEMO-8", "DEMO-9", "DEMO-10"],
    "created < startOfDay(-59d) and project = DEMO": ["DEMO-1"],
    "project = HELP and resolution is not empty": ["HELP-3"],
    "project = DEMO and status was Done": ["DEMO-6", "DEMO-7"],
    "project = DEMO and status changed": ["DEMO-2", "DEMO-3", "DEMO-6", "DEMO-7"],
    'component = Checkout and type != "Bug"': ["DEMO-2", "DEMO-8"],
    "project = OPS order by priority, key desc": ["OPS-3", "OPS-4", "OPS-2", "OPS-1"],
    "project = DEMO and key < DEMO-5 order by cf[10016], key": ["DEMO-4", "DEMO-3", "DEMO-2", "DEMO-1"],
    "project = DEMO and key < DEMO-5 order by cf[10016] desc, key": ["DEMO-2", "DEMO-3", "DEMO-4", "DEMO-1"],
    "project = DEMO and sprint is empty order by created": ["DEMO-1", "DEMO-8", "DEMO-10"],
}


@pytest.mark.parametrize("text", MEANT)
def test_a_query_finds_what_it_means(cloud: SandboxSite, text: str) -> None:
    ordered = text if "order by" in text else f"{text} order by key"
    told = ask(cloud, "POST /rest/api/3/search/jql", {"jql": ordered, "maxResults": 100})
    assert [issue["key"] for issue in told.body["issues"]] == MEANT[text]


REFUSED = {
    "nonsense = 3": "Field 'nonsense' does not exist",
    "project = NOPE": "The value 'NOPE' does not exist for the field 'project'.",
    "assignee = nobody()": "Unable to find JQL function 'nobody'.",
    "summary = x": "The operator '=' is not supported by the 'summary' field.",
    "summary was x": "The operator 'was' is not supported by the 'summary' field.",
    "created > soon": "The value 'soon' does not exist for the field 'created'.",
    "a = ": "Error in the JQL Query:",
    "project = DEMO order by nonsense": "Field 'nonsense' does not exist",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_query_that_means_nothing_is_refused(cloud: SandboxSite, text: str) -> None:
    told = ask(cloud, "POST /rest/api/3/search/jql", {"jql": text})
    assert told.status == 400
    assert REFUSED[text] in told.body["errorMessages"][0]


def test_what_was_and_what_changed_is_found(cloud: SandboxSite) -> None:
    def keys(jql: str) -> list[str]:
        return [issue["key"] for issue in ask(cloud, "POST /rest/api/3/search/jql", {"jql": jql}).body["issues"]]

    assert ask(cloud, "POST /rest/api/3/issue/OPS-3/transitions", {"transition": {"id": "11"}}).status == 204
    assert keys('key = OPS-3 and status was "To Do"') == ["OPS-3"]
    assert keys('key = OPS-3 and status changed from "To Do" to "In Progress" by currentUser() after -1h') == ["OPS-3"]
    assert keys("key = OPS-3 and status changed before -1d") == []
    assert keys('key = OPS-3 and status was not in (Done, "In Review")') == ["OPS-3"]
    assert keys('key = OPS-3 and status was "To Do" by currentUser()') == []


def corpus(number: int) -> list[str]:
    """Queries of every shape, some of them damaged."""
    make = _Maker(chance(7))
    return [make.query() for _ in range(number)]


class _Maker:
    def __init__(self, source: random.Random) -> None:
        self.r = source

    def query(self) -> str:
        r = self.r
        text = self.clause(0) + (f" order by {self.sorting()}" if r.random() < 0.3 else "")
        if r.random() < 0.15:
            place = r.randrange(len(text))
            text = (
                text[:place]
                + r.choice(["", ")", "(", ",", '"', "and ", "~", "#", "["])
                + text[place + r.randint(0, 2) :]
            )
        return text

    def sorting(self) -> str:
        return ", ".join(
            self.r.choice(FIELDS) + self.r.choice(["", " asc", " DESC"]) for _ in range(self.r.randint(1, 3))
        )

    def clause(self, depth: int) -> str:
        kind = self.r.random()
        if kind < 0.5 or depth > 3:
            return self.condition()
        if kind < 0.6:
            return self.r.choice(["not ", "! ", "NOT "]) + self.clause(depth + 1)
        if kind < 0.75:
            return f"({self.clause(depth + 1)})"
        word = self.r.choice([" and ", " or ", " & ", " || ", " AND ", " && "])
        return self.clause(depth + 1) + word + self.clause(depth + 1)

    def condition(self) -> str:
        r, field, kind = self.r, self.r.choice(FIELDS), self.r.random()
        if kind < 0.3:
            return f"{field} {r.choice(OPERATORS)} {self.value()}"
        if kind < 0.5:
            operand = self.values() if r.random() < 0.85 else self.value()
            return f"{field} {r.choice(['in', 'not in', 'NOT  IN'])} {operand}"
        if kind < 0.6:
            return f"{field} {r.choice(['is', 'IS NOT'])} {r.choice(['empty', 'NULL', 'x'])}"
        if kind < 0.75:
            return f"{field} {r.choice(['was', 'was not'])} {self.value()} {self.predicates()}"
        if kind < 0.85:
            return f"{field} {r.choice(['was in', 'was not in'])} {self.values()} {self.predicates()}"
        return f"{field} changed {self.predicates()}"

    def predicates(self) -> str:
        words = ["before", "after", "on", "during", "by", "from", "TO"]
        parts = [f"{self.r.choice(words)} {self.values() if self.r.random() < 0.3 else self.value()}" for _ in range(3)]
        return " ".join(parts[: self.r.randint(0, 3)])

    def value(self) -> str:
        return self.r.choice(VALUES)

    def values(self) -> str:
        return f"({', '.join(self.value() for _ in range(self.r.randint(1, 3)))})"


ORACLE = """
const { JastBuilder } = require("@atlaskit/jql-ast");
const hidden = ["parent", "position", "positions", "errors"];
const plain = (node) => {
  if (Array.isArray(node)) return node.map(plain);
  if (!node || typeof node !== "object") return node;
  const kept = Object.keys(node).filter((key) => !hidden.includes(key));
  return Object.fromEntries(kept.map((key) => [key, plain(node[key])]));
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const read = new JastBuilder().build(JSON.parse(line));
  const where = plain(read.query && read.query.where) || null;
  console.log(JSON.stringify({ wrong: (read.errors || []).length > 0, where }));
});
"""
MODULES = os.environ.get("JQL_AST_MODULES", "")  # a folder that npm has installed @atlaskit/jql-ast into


@pytest.mark.draws
@pytest.mark.skipif(
    not (shutil.which("node") and MODULES and Path(MODULES, "@atlaskit").is_dir()),
    reason="node and the vendor's parser (JQL_AST_MODULES) are needed",
)
def test_the_vendors_own_parser_reads_the_same(grammar: Grammar, tmp_path: Path) -> None:
    queries = corpus(2000)
    script = tmp_path / "oracle.js"
    script.write_text(ORACLE, encoding="utf-8")
    lines = "\n".join(json.dumps(query) for query in queries)
    node = subprocess.run(
        ["node", script],
        input=lines,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "NODE_PATH": MODULES},
        check=True,
    )
    different = []
    for query, line in zip(queries, node.stdout.splitlines(), strict=True):
        theirs = json.loads(line)
        try:
            ours = _ours(grammar.parse_query(query).where)
        except QuerySyntaxError:
            ours = None
            if theirs["wrong"]:
                continue
        if theirs["wrong"] or _theirs(theirs["where"]) != ours:
            different.append((query, theirs, ours))
    assert different == []


def _theirs(clause: Any) -> Any:
    if clause is None:
        return None
    if clause["clauseType"] == "compound":
        return [clause["operator"]["value"], *map(_theirs, clause["clauses"])]
    if clause["clauseType"] == "not":
        return ["not", _theirs(clause["clause"])]
    predicates = [[each["operator"]["value"], _their_operand(each["operand"])] for each in clause["predicates"]]
    return [clause["field"]["value"], clause["operator"]["value"], _their_operand(clause.get("operand")), predicates]


def _their_operand(operand: Any) -> Any:
    kind = operand and operand.get("operandType")
    if kind == "list":
        return list(map(_their_operand, operand["values"]))
    if kind == "function":
        return {operand["function"]["value"]: [each["value"] for each in operand["arguments"]]}
    return operand and (["empty"] if kind == "keyword" else operand["value"])


def _ours(clause: Any) -> Any:
    match clause:
        case None:
            return None
        case Joined(word, clauses):
            return [word, *map(_ours, clauses)]
        case Negation(inner):
            return ["not", _ours(inner)]
        case Condition(field, operator, operand, predicates):
            told = [[each.word, _our_operand(each.operand)] for each in predicates]
            return [field.name, operator, _our_operand(operand), told]
    raise AssertionError(clause)


def _our_operand(operand: Any) -> Any:
    match operand:
        case None:
            return None
        case Values(items):
            return list(map(_our_operand, items))
        case Function(name, arguments):
            return {name: list(arguments)}
        case Empty():
            return ["empty"]
    return operand.text
