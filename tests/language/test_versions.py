"""Files that extend, files of earlier versions, and what is told of what is gone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from callsheet import registry
from callsheet.catalog.compile import sound_definitions
from callsheet.errors import DefinitionError
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.language.renames import KIND
from callsheet.language.shape import KINDS
from callsheet.language.source_file import PARTS, RESOURCE, Definitions
from support.places import CASES, DEFINITIONS

BASE = """
[renamed.view.ids]
orders = "order"
[operation.listOrders]
product  = "shop"
http     = "GET /v1/orders"
params   = [{ name = "id" }, { name = "start", type = "integer" }, { name = "limit", type = "integer" }]
paginate = { using = "offset" }
[renamed.view.gone]
bill = "use `order`"
[renamed.operation.gone]
listBills = "the service has none any more"
[renamed.command.keys]
mends = "safe_mode"
"params.also" = "aliases"
most = "limit"
reread = "on_conflict"
"reread.same" = "unchanged"
"""
COMMAND = """
[command."orders scan"]
help = "Scan"
params = [{ name = "id", kind = "argument" }, { name = "sku", also = ["article"] }]
step = [
  { as = "old", call = "listOrders", args = { id = "{id}" }, most = 3 },
  { call = "createOrder", body = { sku = "{sku}", most = 1 }, reread = { step = "old", same = "sku", fail = "no" } },
]
"""


def layers(directory: Path, mine: str, base: str = BASE) -> list[Layer]:
    for name, text in (("base", base), ("mine", mine)):
        (directory / name).mkdir()
        (directory / name / f"{name}.toml").write_text(text, encoding="utf-8")
    shipped = [Layer(str(CASES / "language"), shipped=True), Layer(str(directory / "base"), shipped=True)]
    return [*shipped, Layer(str(directory / "mine"))]


def sound(directory: Path, mine: str) -> Definitions:
    definitions = load_definitions(layers(directory, mine))
    check_definitions(definitions, {}, registry.registered_names())
    return definitions


def faults(directory: Path, mine: str) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        sound(directory, mine)
    return [text.removeprefix(f"{directory / 'mine' / 'mine.toml'}:") for text in caught.value.details] or [
        caught.value.message
    ]


@pytest.mark.parametrize("language", ["", "language = 2\n", "language = 1\n"])
def test_what_extends_is_laid_over_what_is_there(language: str, tmp_path: Path) -> None:
    found = sound(tmp_path, f'{language}[extend.view.order]\ncolumns = [{{ name = "SKU", value = "sku" }}]\n')
    assert [column["name"] for column in found["view", "order"].table["columns"]] == ["ID", "SKU"]


FAULTS: list[tuple[str, str, list[str]]] = [
    (
        "a misspelt id is no new definition",
        '[extend.view.ordr]\nid = "key"\ncolumns = []\n',
        ["1: view \"ordr\": nothing to extend, did you mean 'order'?"],
    ),
    (
        "a fault in what extends is told at its line",
        'language = 2\n\n[extend.view.order]\nid = "a ||"\n',
        ['4: view "order": id: not an expression: Invalid jmespath expression: Incomplete expression'],
    ),
    (
        "a new definition is none that is there",
        'language = 2\n[view.order]\nid = "key"\n',
        ['2: view "order": it is defined already: write [extend.view.order] to change it'],
    ),
    (
        "an id with spaces is shown as it is written",
        'language = 2\n[operation."getOrder"]\nhttp = "GET /x"\n[group."orders"]\nhelp = "x"\n',
        [
            '2: operation "getOrder": it is defined already: write [extend.operation.getOrder] to change it',
            '4: group "orders": it is defined already: write [extend.group.orders] to change it',
        ],
    ),
    ("a number that is no version", "language = true\n", ["1: language = True: expected 1 or 2"]),
    (
        "a newer version",
        "# x\nlanguage = 3\n",
        ["2: language = 3: it is written for a newer version of the program, which knows 2"],
    ),
    ("no tables", "extend = 1\n", ["1: extend: expected tables [extend.<kind>.<id>]"]),
    (
        "both in one file",
        '[view.a]\ncolumns = []\n[extend.view.a]\nid = "x"\n',
        ['3: view "a": the same file defines it: change it there'],
    ),
    (
        "old keys in a file of today",
        'language = 2\n[command."orders scan"]\nhelp = "x"\ncall = "createOrder"\nmends = true\n',
        ['5: command "orders scan": mends: unknown key'],
    ),
    ("what is gone", '[view.bill]\nid = "x"\n', ['1: view "bill" is gone: use `order`']),
    (
        "what needs what is gone",
        '[command."orders bills"]\nhelp = "x"\ncall = "listBills"\nview = "bill"\n',
        [
            "3: command \"orders bills\": call: operation 'listBills' is gone: the service has none any more",
            "4: command \"orders bills\": view: view 'bill' is gone: use `order`",
        ],
    ),
]


@pytest.mark.parametrize(("mine", "expected"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_what_is_wrong_is_told_with_its_place(mine: str, expected: list[str], tmp_path: Path) -> None:
    assert faults(tmp_path, mine) == expected


def test_old_keys_are_read_in_the_words_of_today_and_noted(tmp_path: Path) -> None:
    found = sound(tmp_path, COMMAND)
    table = found["command", "orders scan"].table
    assert table["params"][1] == {"name": "sku", "aliases": ["article"]}
    assert table["step"][0]["limit"] == 3
    assert table["step"][1]["body"] == {"sku": "{sku}", "most": 1}
    assert table["step"][1]["on_conflict"] == {"step": "old", "unchanged": "sku", "fail": "no"}
    mine = tmp_path / "mine" / "mine.toml"
    assert sorted(found.notes) == [
        f"{mine}:4: command \"orders scan\": 'also' is now called 'aliases'",
        f"{mine}:6: command \"orders scan\": 'most' is now called 'limit'",
        f"{mine}:7: command \"orders scan\": 'reread' is now called 'on_conflict'",
        f"{mine}:7: command \"orders scan\": 'same' is now called 'unchanged'",
    ]


@pytest.mark.parametrize("above", ["extend.", ""])
def test_an_old_id_is_that_of_today(above: str, tmp_path: Path) -> None:
    found = sound(tmp_path, f'\n[{above}view.orders]\nid = "key"\n')
    assert found["view", "order"].table["id"] == "key"
    assert found.notes == [f'{tmp_path / "mine" / "mine.toml"}:2: view "orders" is now called "order"']


def test_what_is_gone_is_left_out_and_the_rest_works(tmp_path: Path) -> None:
    mine = (
        '[view.bill]\nid = "x"\n[command."orders bills"]\nhelp = "x"\ncall = "listBills"\n'
        '[command."orders again"]\nlike = "orders bills"\nhelp = "y"\n'
        '[extend.view.order]\ncolumns = [{ name = "SKU", value = "sku" }]\n'
        '[view.mine]\nlike = "order"\n[group.mine]\nhelp = "x"\ndefault = "bills"\n'
        '[command."mine bills"]\nhelp = "x"\ncall = "listBills"\n'
    )
    found, left_out = sound_definitions(layers(tmp_path, mine))
    assert ("command", "orders bills") not in found
    assert ("group", "mine") not in found  # it needs what was left out
    assert len(found["view", "mine"].table["columns"]) == 2
    told = [text.removeprefix(f"{tmp_path / 'mine' / 'mine.toml'}:") for text in left_out]
    assert told[:2] == [
        '1: view "bill" is gone: use `order`',
        "5: command \"orders bills\": call: operation 'listBills' is gone: the service has none any more",
    ]


def test_what_is_merely_wrong_is_still_an_error(tmp_path: Path) -> None:
    mine = '[view.bill]\nid = "x"\n[extend.view.order]\nid = "a ||"\n'
    with pytest.raises(DefinitionError) as caught:
        sound_definitions(layers(tmp_path, mine))
    assert [":4: " in text for text in caught.value.details] == [True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[renamed.vieww]\nids = {}\n", "no kind 'vieww', did you mean 'view'?"),
        ('[renamed.view.ids]\norder = "x"\n', "there is a view 'order'"),
        ('[renamed.view.ids]\nold = "ordr"\n', "no view 'ordr', did you mean 'order'?"),
        ('[renamed.view.keys]\nid = "columns"\n', "'id' is a key of it"),
        ('[renamed.view.keys]\nold = "colums"\n', "it has no key 'colums', did you mean 'columns'?"),
    ],
)
def test_the_memory_of_earlier_versions_is_checked(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as caught:
        check_definitions(load_definitions(layers(tmp_path, "", text)), {}, registry.registered_names())
    assert any(told in detail for detail in caught.value.details)


def shipped(directory: Path) -> set[str]:
    """Kinds and ids of all definitions that come with the programs."""

    found = set()
    for path in directory.rglob("*.toml"):
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        for kind in tables.keys() & (KINDS.keys() - {KIND, "schema"}):
            found |= {f"{kind} {id}" for id in tables[kind]}
        for id, table in tables.get(RESOURCE, {}).items():
            found |= {f"{PARTS[key]} {id}" for key in PARTS.keys() & table.keys()}
    return found


def test_an_id_that_was_shipped_is_there_or_is_remembered() -> None:
    """A person's definitions may extend or name it. Where one is removed or renamed, `renamed.toml` says what to use.

    New ids join the list at a release.
    """

    remembered = set()
    renamed = [tomllib.loads(path.read_text(encoding="utf-8")).get(KIND, {}) for path in DEFINITIONS.rglob("*.toml")]
    for kind, table in (pair for tables in renamed for pair in tables.items()):
        remembered |= {f"{kind} {id}" for part in ("ids", "gone") for id in table.get(part, {})}
    known = (CASES / "shipped-ids.txt").read_text(encoding="utf-8").splitlines()
    assert len(known) > 1500
    assert set(known) - shipped(DEFINITIONS) - remembered == set()
