"""`like` and shared parameters: what goes over, and where a person is told of what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callsheet import registry
from callsheet.errors import DefinitionError
from callsheet.language.check import check_definitions
from callsheet.language.desugar import complete_commands
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from support.places import CASES

BASE = CASES / "language"
COPY = """
[operation.dropOrder]
product = "shop"
http = "DELETE /v1/orders/{orderId}"

[[steps.reading.step]]
as = "old"
call = "getOrder"
args = { orderId = "{id}" }
[[steps.reading.step]]
call = "dropOrder"
args = { orderId = "{id}" }

[command."orders copy"]
help = "Order the same again"
confirm = "Drop it?"
params = [{ name = "sku", kind = "argument" }]
[[command."orders copy".step]]
as = "id"
value = "sku"
[[command."orders copy".step]]
use = "reading"
[[command."orders copy".step]]
call = "createOrder"
[command."orders copy".step.body]
sku = "{old.sku}"

[command."orders all"]
help = "Drop many"
confirm = "Drop them?"
params = [{ name = "ids", kind = "argument", multiple = true }]
[[command."orders all".step]]
[command."orders all".step.each]
items = "ids"
item = "id"
done = "{done} of {total}"
[[command."orders all".step.each.step]]
use = "reading"
[[command."orders all".step.each.step]]
call = "dropOrder"
args = { orderId = "{id}" }
[[command."orders all".on.datacenter.step]]
as = "id"
value = "ids[0]"
[[command."orders all".on.datacenter.step]]
use = "reading"
"""
LIST = """
[operation.dropOrder]
product = "shop"
http = "DELETE /v1/orders/{orderId}"

[view.short]
like = "order"
columns = [{ name = "SKU", value = "sku" }]

[input.state]
metavar = "STATE"
choices = ["open", "paid"]
help = "only these"
refuse = [{ when = "state == 'paid' && !sku", fail = "give --sku too" }]

[input.open-state]
like = "state"
default = "open"

[command."orders show"]
help = "Show an order"
aliases = ["s"]
params = [{ name = "id", kind = "argument" }, { like = "state" }, { name = "sku" }]
call = "getOrder"
args = { orderId = "{id}" }
view = "order"
result = { id = "{id}", state = "{state}", sku = "{sku}" }
examples = ["orders show 7"]

[command."orders peek"]
like = "orders show"
help = "Look at an order"
view = "short"
params = [{ name = "state", like = "open-state" }, { name = "long", kind = "flag" }]
confirm = "{long}?"
remove = ["result"]

[command."orders again"]
like = "orders peek"
params = [{ name = "long", remove = true }]
call = "dropOrder"
confirm = "Drop it?"
"""


def shipped(*directories: Path) -> list[Layer]:
    return [Layer(str(directory), shipped=True) for directory in directories]


def tables(directory: Path, text: str) -> dict[tuple[str, str], dict[str, Any]]:
    (directory / "shop.toml").write_text(text, encoding="utf-8")
    definitions = load_definitions([*shipped(BASE), Layer(str(directory))])
    check_definitions(definitions, {}, registry.registered_names())
    complete_commands(definitions)
    return {key: definition.table for key, definition in definitions.items()}


def test_what_is_built_on_another_is_that_with_changes(tmp_path: Path) -> None:
    found = tables(tmp_path, LIST)
    assert found["view", "short"] == {
        "id": "id",
        "columns": [{"name": "ID", "value": "id"}, {"name": "SKU", "value": "sku"}],
    }
    state = {"name": "state", "metavar": "STATE", "choices": ["open", "paid"], "help": "only these"}
    show, peek, again = (found["command", f"orders {word}"] for word in ("show", "peek", "again"))
    assert show["params"] == [{"name": "id", "kind": "argument"}, state, {"name": "sku"}]
    open_state = {**state, "default": "open"}
    long = {"name": "long", "kind": "flag"}
    assert peek["params"] == [{"name": "id", "kind": "argument"}, open_state, {"name": "sku"}, long]
    assert again["params"] == [{"name": "id", "kind": "argument"}, open_state, {"name": "sku"}]
    assert (peek["help"], peek["view"]) == ("Look at an order", "short")
    assert not {"aliases", "examples", "result", "like"} & peek.keys()


def test_another_call_gets_the_same_arguments(tmp_path: Path) -> None:
    again = tables(tmp_path, LIST)["command", "orders again"]
    assert again["help"] == "Look at an order"
    assert again["step"][1:] == [{"call": "dropOrder", "args": {"orderId": "{id}"}}]


STEPS = """
[operation.dropOrder]
product = "shop"
http = "PUT /v1/orders/{orderId}"

[command."orders base"]
help = "Base"
params = [{ name = "id", kind = "argument" }]
call = "getOrder"
args = { orderId = "{id}" }
safety = "read"
result = { id = "{id}" }
confirm = "Sure?"

[command."orders base".on.cloud]
params = [{ name = "id", metavar = "ORDER" }]
args = { orderId = "{id}" }

[command."orders base".on.datacenter]
call = "getOrder"
args = { orderId = "1" }
params = [{ name = "id", help = "the id" }]

[command."orders called"]
like = "orders base"
call = "dropOrder"

[command."orders stepped"]
like = "orders base"
step = [{ call = "createOrder", body = { sku = "{id}" } }]
"""


def test_a_command_that_does_something_else_takes_none_of_what_the_base_does(tmp_path: Path) -> None:
    found = tables(tmp_path, STEPS)
    called, stepped = found["command", "orders called"], found["command", "orders stepped"]
    assert "safety" not in {**called, **stepped}
    assert (called["confirm"], called["result"]) == ("Sure?", {"id": "{id}"})
    assert not {"confirm", "result"} & stepped.keys()
    assert called["on"]["cloud"]["step"] == [{"call": "dropOrder", "args": {"orderId": "{id}"}}]
    assert called["on"]["datacenter"] == {"params": [{"name": "id", "help": "the id"}]}
    assert stepped["on"] == {
        "cloud": {"params": [{"name": "id", "metavar": "ORDER"}]},
        "datacenter": {"params": [{"name": "id", "help": "the id"}]},
    }
    assert found["command", "orders base"]["on"]["datacenter"]["step"][0]["args"] == {"orderId": "1"}


def test_rules_go_with_their_parameter_and_come_first(tmp_path: Path) -> None:
    rule = {"when": "state == 'paid' && !sku", "fail": "give --sku too"}
    for word in ("show", "peek", "again"):
        assert tables(tmp_path, LIST)["command", f"orders {word}"]["step"][0] == rule


def test_an_overlay_of_the_base_reaches_what_is_built_on_it(tmp_path: Path) -> None:
    overlay = '[view.order]\ncolumns = [{ name = "AGE", value = "created" }]\n[input.state]\nhelp = "changed"\n'
    (tmp_path / "over").mkdir()
    (tmp_path / "over" / "mine.toml").write_text(overlay, encoding="utf-8")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "shop.toml").write_text(LIST, encoding="utf-8")
    found = load_definitions([*shipped(BASE, tmp_path / "base"), Layer(str(tmp_path / "over"))])
    assert [column["name"] for column in found["view", "short"].table["columns"]] == ["ID", "AGE", "SKU"]
    assert found["command", "orders peek"].table["params"][1]["help"] == "changed"


def test_parameters_that_differ_on_a_deployment_can_be_shared_ones(tmp_path: Path) -> None:
    text = """
[command."orders show"]
help = "Show an order"
params = [{ name = "id", kind = "argument" }, { name = "sku" }]
call = "getOrder"
args = { orderId = "{id}" }
on.datacenter = { params = [{ like = "state" }] }
"""
    inputs = LIST[LIST.index("[input.state]") : LIST.index("[input.open-state]")]
    here = tables(tmp_path, inputs + text)["command", "orders show"]["on"]["datacenter"]
    assert here["params"] == [{"metavar": "STATE", "choices": ["open", "paid"], "help": "only these", "name": "state"}]
    assert [step.get("fail") for step in here["step"]] == ["give --sku too", None]


def test_steps_that_several_commands_share_stand_where_they_are_used(tmp_path: Path) -> None:
    found = tables(tmp_path, COPY)
    read, drop = {"as": "old", "call": "getOrder"}, {"call": "dropOrder"}
    arguments = {"args": {"orderId": "{id}"}}
    copied = found["command", "orders copy"]["step"]
    assert copied[:3] == [{"as": "id", "value": "sku"}, {**read, **arguments}, {**drop, **arguments}]
    assert copied[3] == {"call": "createOrder", "body": {"sku": "{old.sku}"}}
    each = found["command", "orders all"]["step"][0]["each"]
    assert each["step"] == [{**read, **arguments}, {**drop, **arguments}, {"call": "dropOrder", **arguments}]
    assert found["command", "orders all"]["on"]["datacenter"]["step"][1:] == [
        {**read, **arguments},
        {**drop, **arguments},
    ]


SHOW = LIST[LIST.index('[command."orders show"]') : LIST.index('[command."orders peek"]')]
FAULTS = [
    ("a misspelt base", '[view.a]\nlike = "ordr"\n', "2: view \"a\": like: no view 'ordr', did you mean 'order'?"),
    (
        "a circle",
        '[view.a]\nlike = "b"\n[view.b]\nlike = "c"\n[view.c]\nlike = "a"\n',
        '6: view "c": like: it is built on itself: a → b → c → a',
    ),
    ("itself", '[view.a]\nlike = "a"\n', '2: view "a": like: it is built on itself: a → a'),
    (
        "a misspelt shared parameter",
        (
            '[command."orders a"]\nhelp = "A"\nparams = [\n  { like = "stat" },\n]\nbuiltin = "version"\n'
            'safety = "local"\n[input.state]\nhelp = "x"\n'
        ),
        "4: command \"orders a\": params.0.like: no input 'stat', did you mean 'state'?",
    ),
    (
        "misspelt shared steps",
        COPY.replace('use = "reading"', 'use = "readin"', 1),
        "22: command \"orders copy\": step.1.use: no steps 'readin', did you mean 'reading'?",
    ),
    (
        "something else beside shared steps",
        COPY.replace('use = "reading"', 'use = "reading"\nwhen = "sku"', 1),
        "21: command \"orders copy\": step.1: the shared steps say all that is done; remove 'when', or say",
    ),
    (
        "a step behind shared steps, where it stands",
        COPY.replace("{old.sku}", "{odl.sku}"),
        "25: command \"orders copy\": step.3.body: 'odl' is not known here, did you mean 'old'?",
    ),
    (
        "shared steps that see what the command lacks",
        COPY.replace('as = "id"', 'as = "di"', 1),
        "21: command \"orders copy\": step.1.args: 'id' is not known here",
        "21: command \"orders copy\": step.2.args: 'id' is not known here",
    ),
    (
        "a fault of shared steps, told once and there",
        COPY.replace('call = "dropOrder"', 'call = "dropOdrer"', 1),
        "11: steps \"reading\": step.1.call: no operation 'dropOdrer', did you mean 'dropOrder'?",
    ),
    (
        "a removal of nothing",
        '[view.a]\nlike = "order"\nremove = ["ids"]\n',
        "3: view \"a\": remove.0: nothing to remove, did you mean 'id'?",
    ),
    ("a removal below nothing", '[view.a]\ncolumns = []\nremove = ["id"]\n', '3: view "a": remove: nothing to remove'),
    (
        "a rule that sees what the command lacks",
        SHOW + '[input.state]\nrefuse = [{ when = "stat", fail = "{colour}" }]\n',
        "4: command \"orders show\": params.1.refuse.0.when: 'stat' is not known here, did you mean 'state'?",
        "4: command \"orders show\": params.1.refuse.0.fail: 'colour' is not known here",
    ),
    (
        "a fault of a shared parameter, told once and there",
        SHOW + '[input.state]\nhelp = "x"\nlookup = "gone"\n',
        "13: input \"state\": lookup: no lookup 'gone'",
    ),
    (
        "a fault of the base, told once and there",
        '[view.a]\nlike = "b"\n[view.b]\nid = "key"\ncolumns = [\n  { name = "A", value = "a ||" },\n]\n',
        '6: view "b": columns.0.value: not an expression: ',
    ),
    (
        "what only the change makes wrong",
        LIST + '[command."orders bad"]\nlike = "orders show"\nparams = [{ name = "id", remove = true }]\n',
        "43: command \"orders bad\": args: 'id' is not known here",
        "43: command \"orders bad\": result: 'id' is not known here",
    ),
    (
        "rules that nothing judges",
        (
            '[command."orders a"]\nhelp = "A"\nbuiltin = "version"\nsafety = "local"\n'
            'params = [{ name = "x", refuse = [{ when = "x", fail = "x" }] }]\n'
        ),
        '5: command "orders a": params.0.refuse: only commands that call something have rules',
    ),
    (
        "more on each other than anybody follows",
        "".join(f'[view.v{number}]\nlike = "v{number + 1}"\n' for number in range(70)) + "[view.v70]\ncolumns = []\n",
        '130: view "v64": like: too many are built on each other here',
    ),
]


@pytest.mark.parametrize(("text", "expected"), [(f[1], f[2:]) for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_fault_is_told_once_where_it_can_be_mended(text: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as caught:
        tables(tmp_path, text)
    found = [detail.removeprefix(f"{tmp_path / 'shop.toml'}:") for detail in caught.value.details]
    assert len(found) == len(expected)
    assert all(detail.startswith(start) for detail, start in zip(found, sorted(expected), strict=True)), found


@pytest.mark.parametrize(("kind", "id"), [("view", "order"), ("input", "state"), ("command", "orders show")])
def test_who_removes_a_base_is_told_what_needs_it(kind: str, id: str, tmp_path: Path) -> None:
    for name, text in (("base", LIST), ("over", f'[{kind}."{id}"]\nremove = true\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DefinitionError) as caught:
        load_definitions([*shipped(BASE, tmp_path / "base"), Layer(str(tmp_path / "over"))])
    over = f'{tmp_path / "over" / "over.toml"}:1: {kind} "{id}": this breaks '
    assert caught.value.details
    assert all(detail.startswith(over) for detail in caught.value.details), caught.value.details


PART = """
[operation.listOrders]
product  = "shop"
http     = "GET /v1/orders"
params   = [{ name = "state" }]

[part.late]
command = "orders day"
title   = "Late"
step    = [{ call = "listOrders", args = { state = "open" } }]
line    = [{ name = "SKU", value = "sku" }]

[part.early]
command = "orders day"
title   = "Early"
order   = -1
step    = [{ as = "all", call = "listOrders" }, { as = "few", value = "all[:1]" }]
line    = [{ name = "SKU", value = "sku" }]

[command."orders day"]
help     = "Show the day"
view     = "day-of-orders"
examples = ["orders day"]

[view.day-of-orders]
columns = []
"""


def test_parts_are_steps_of_their_command_and_sections_of_its_view(tmp_path: Path) -> None:
    loaded = tables(tmp_path, PART)
    steps = loaded["command", "orders day"]["step"]
    assert [step["as"] for step in steps] == ["all", "early", "late"]
    assert [step.get("tolerate") for step in steps] == ["Early: {error}", None, "Late: {error}"]
    sections = loaded["view", "day-of-orders"]["detail"]
    assert [(section["title"], section["items"]) for section in sections] == [("Early", "early"), ("Late", "late")]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('call = "listOrders", args', 'call = "listOrder", args', 'part "late": step.0.call: no operation'),
        ('value = "sku" }]', 'value = "sku ||" }]', 'part "late": line.0.value'),
        (
            'command = "orders day"\ntitle   = "Late"',
            'command = "orders dya"\ntitle   = "Late"',
            "no command 'orders dya'",
        ),
        ("all[:1]", "al[:1]", "shop.toml:17: "),
    ],
)
def test_a_fault_of_a_part_is_told_of_the_part(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in PART
    with pytest.raises(DefinitionError) as caught:
        tables(tmp_path, PART.replace(old, new, 1))
    assert any(told in detail for detail in caught.value.details), caught.value.details
