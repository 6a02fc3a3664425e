"""Broken definitions: each file of `cases/broken` says in its first lines what must be said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet import registry
from callsheet.errors import DefinitionError
from callsheet.language.check import check_definitions
from callsheet.language.checks.references import shape_places
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.language.parameters import tool_name
from support.places import CASES, DEFINITIONS

BROKEN = sorted((CASES / "broken").glob("*.toml"))


def shipped(*directories: Path) -> list[Layer]:
    return [Layer(str(directory), shipped=True) for directory in directories]


def problems(directory: Path) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        sound(directory)
    count = len(caught.value.details)
    assert caught.value.message == f"{count} problem{'' if count == 1 else 's'} in definitions"
    assert caught.value.exit_code == 2
    return list(caught.value.details)


def sound(directory: Path) -> None:
    check_definitions(
        load_definitions([*shipped(CASES / "language"), Layer(str(directory))]), {}, registry.registered_names()
    )


@pytest.mark.parametrize("case", BROKEN, ids=lambda path: path.stem)
def test_broken_definition_is_refused_with_its_place(case: Path, tmp_path: Path) -> None:
    text = case.read_text(encoding="utf-8")
    path = tmp_path / case.name
    path.write_text(text, encoding="utf-8")
    expected = [line.removeprefix("# expect: ") for line in text.splitlines() if line.startswith("# expect: ")]
    assert expected
    found = [detail.removeprefix(str(path)).removeprefix(":").strip() for detail in problems(tmp_path)]
    assert found == expected


def test_the_small_world_itself_is_sound(tmp_path: Path) -> None:
    sound(tmp_path)


def test_a_problem_in_an_overlay_points_at_the_overlay_not_at_what_lies_under_it(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[view.order]\nid = "id ||"\n', encoding="utf-8")
    (only,) = problems(tmp_path)
    assert only.startswith(f'{tmp_path / "mine.toml"}:2: view "order": id: not an expression')


def test_the_same_definition_twice_in_one_directory_is_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text('[view.order]\nid = "key"\n', encoding="utf-8")
    (only,) = problems(tmp_path)
    assert only == f'{tmp_path / "b.toml"}:1: view "order": also defined in {tmp_path / "a.toml"}'


DIFFERENT = """
[operation.findOrders]
product = "shop"
http = "GET /v1/find"
on.datacenter.http = "GET /v1/find/{space}"

[command."orders find"]
help = "Find orders"
safety = "read"
call = "findOrders"
"""


def test_a_call_is_checked_on_the_deployments_that_it_is_made_on(tmp_path: Path) -> None:
    """What the operation wants on data center counts for the command there, whoever says it."""
    path = tmp_path / "own.toml"
    path.write_text(DIFFERENT + 'on.datacenter = { call = "findOrders", args = { space = "x" } }\n', encoding="utf-8")
    sound(tmp_path)
    path.write_text(DIFFERENT, encoding="utf-8")
    assert problems(tmp_path) == [f'{path}:10: command "orders find": call: findOrders requires space in args']
    path.write_text(DIFFERENT + 'on.datacenter = { unavailable = "not there" }\n', encoding="utf-8")
    sound(tmp_path)
    path.write_text(DIFFERENT + 'on.datacenter = { call = "findOrders" }\n', encoding="utf-8")
    assert len(problems(tmp_path)) == 1


def test_an_operation_is_checked_by_each_of_its_names(tmp_path: Path) -> None:
    text = """
[command."orders get"]
help   = "Get an order"
safety = "read"
call   = "shop.getOrder"

[resource.item.find]
title = "item"
call  = "getOrder"
args  = { orderId = "{word}{number}" }

[command."orders show"]
help   = "Get an order"
safety = "read"
call   = "getOrder"
args   = { orderId = "{id}" }
params = [{ name = "id", kind = "argument", lookup = "item" }]
"""
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    # A further name of an operation says nothing about a lookup of that name.
    names = {"operation": {"shop.getOrder": "getOrder", "item": "createOrder"}}
    with pytest.raises(DefinitionError) as caught:
        check_definitions(
            load_definitions([*shipped(CASES / "language"), Layer(str(tmp_path))]), names, registry.registered_names()
        )
    assert [detail.partition(": ")[2] for detail in caught.value.details] == [
        'command "orders get": call: shop.getOrder requires orderId in args',
        "command \"orders show\": params.0.lookup: the lookup 'item' needs 'number', which this command does not have",
    ]


def test_what_holds_on_every_deployment_is_said_once(tmp_path: Path) -> None:
    text = """
[operation.getOrder]
http = "GET /v1/orders/{orderId}?x"

[operation.getOrder.on.datacenter]
params = [{ name = "expand" }]
"""
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    (only,) = problems(tmp_path)
    assert "which cannot contain '?'" in only


def told(directory: Path, over: str) -> list[str]:
    """What is said of an overlay in a layer of its own, above `directory`."""
    upper = directory / "over"
    upper.mkdir(exist_ok=True)
    (upper / "mine.toml").write_text(over, encoding="utf-8")
    lower = directory / "under"
    with pytest.raises(DefinitionError) as caught:
        check_definitions(
            load_definitions([*shipped(CASES / "language", lower), Layer(str(upper))]), {}, registry.registered_names()
        )
    return [text.removeprefix(str(upper / "mine.toml")) for text in caught.value.details]


UNDER = """
[command."orders get"]
help   = "Get an order"
view   = "order"
params = [{ name = "id", kind = "argument" }]
call   = "getOrder"
args   = { orderId = "{id}" }

[node.paragraph]
group = "block"
"""
CAUSES = [
    (
        "[view.order]\nremove = true\n",
        ':1: view "order": this breaks command "orders get": view: no view \'order\'',
    ),
    (
        '[operation.getOrder]\nhttp = "DELETE /v1/orders/{orderId}"\n',
        (
            ':1: operation "getOrder": this breaks command "orders get": '
            "a command that destroys needs 'confirm' (getOrder destroys)"
        ),
    ),
    (
        "[node.paragraph]\nremove = true\n",
        ':1: node "paragraph": rich text cannot do without it: it can be changed, not removed',
    ),
    (
        '[node.aside]\ngroup = "block"\nhtml = "aside"\nadf = { type = "aside", holds = ["paragraph"] }\n',
        ':4: node "aside": adf: a document has no place for it: say where it may stand, such as within = ["doc"]',
    ),
    (
        '[node.aside]\ngroup = "block"\nhtml = "aside"\nstorage = [{ macro = "aside" }]\n',
        (
            ':4: node "aside": storage.0.macro: the words in it would be lost: '
            'say body = "rich" (blocks) or body = "plain" (text)'
        ),
    ),
    (
        '[node.aside]\ngroup = "part"\n\nadf = { type = "aside", holds = ["paragraphs"] }\n',
        ":4: node \"aside\": adf.holds: no kind of node 'paragraphs', did you mean 'paragraph'?",
    ),
    (
        '[node.rod]\ngroup = "inline"\ntext = ["{{rod:{long}}}"]\npatterns = { long = "(a|b)" }\n',
        ':4: node "rod": patterns.long: it is part of another pattern, so groups are written (?:...)',
    ),
    (
        '[program.demo]\noptions = [{ name = "id" }, { name = "timeout", type = "integer" }]\n',
        ":2: program \"demo\": options.1: the engine reads 'timeout' as one duration, not as integer",
    ),
]


@pytest.mark.parametrize(("over", "text"), CAUSES, ids=[text[:30] for _, text in CAUSES])
def test_a_fault_that_an_overlay_causes_is_told_at_the_overlay(over: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "under").mkdir()
    (tmp_path / "under" / "own.toml").write_text(UNDER, encoding="utf-8")
    assert told(tmp_path, over) == [text]


def test_a_fault_in_the_defaults_of_a_file_is_told_once_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[defaults.view]\nid = "id ||"\n[view.a]\ncolumns = []\n[view.b]\ncolumns = []\n', encoding="utf-8")
    (only,) = problems(tmp_path)
    assert only.startswith(f"{path}:2: defaults.view: id: not an expression: ")


def test_nesting_that_nothing_could_read_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[schema.deep]\ntype = "object"\nproperties' + ".a" * 100 + " = 1\n", encoding="utf-8")
    assert problems(tmp_path) == [f"{path}:3: schema.deep: nested too deeply"]
    path.write_text(f'[view.order]\nid = "{"(" * 3000}a{")" * 3000}"\n', encoding="utf-8")
    assert problems(tmp_path) == [f'{path}:2: view "order": id: not an expression: nested too deeply']


def test_a_removal_is_blamed_for_what_it_breaks_in_deeper_files_of_its_own_layer(tmp_path: Path) -> None:
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "orders.toml").write_text(
        '[view.mine]\nid = "id"\n[command."orders get"]\nhelp = "Get"\ncall = "getOrder"\n'
        'params = [{ name = "id", kind = "argument" }]\nargs = { orderId = "{id}" }\nview = "mine"\n',
        encoding="utf-8",
    )
    (tmp_path / "mine.toml").write_text("language = 2\n[extend.view.mine]\nremove = true\n", encoding="utf-8")
    broken = "command \"orders get\": view: no view 'mine', only order"
    assert problems(tmp_path) == [f'{tmp_path / "mine.toml"}:2: view "mine": this breaks {broken}']


def test_the_same_fault_in_two_definitions_is_told_of_both(tmp_path: Path) -> None:
    column = 'columns = [{ name = "ID", value = "id ||" }]'
    (tmp_path / "two.toml").write_text(f"[view.one]\n{column}\n[view.two]\n{column}\n", encoding="utf-8")
    assert [text.partition(": ")[2][:10] for text in problems(tmp_path)] == ['view "one"', 'view "two"']


def test_commands_with_long_words_that_begin_alike_are_two_tools(tmp_path: Path) -> None:
    words = f"orders {'very-' * 14}"
    text = "".join(
        f'[command."{words}{last}"]\nhelp = "x"\ncall = "getOrder"\nargs = {{ orderId = "7" }}\n'
        for last in ("long", "short")
    )
    (tmp_path / "long.toml").write_text(text, encoding="utf-8")
    sound(tmp_path)
    one, other = (tool_name(f"{words}{last}") for last in ("long", "short"))
    assert one != other
    assert len(one) == len(other) == 64


def test_only_the_way_to_what_is_wanted_is_walked() -> None:
    definitions = load_definitions(shipped(DEFINITIONS / "common", DEFINITIONS / "client", DEFINITIONS / "suite"))
    wanted = ("operation", "lookup")
    for definition in definitions.of_kind("command"):
        whole = shape_places("command", definition.table)
        few = shape_places("command", definition.table, ("reference", wanted))
        assert [each for each in few if each.schema.get("reference") in wanted] == [
            each for each in whole if each.schema.get("reference") in wanted
        ]
        assert len(few) <= len(whole)
