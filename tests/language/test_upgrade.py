"""Older files rewritten in the words of today: the same definitions, with every comment where it was."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from callsheet.errors import DefinitionError
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.language.upgrade import Upgrade, find_upgrades
from support.cases import run_program
from support.places import CASES
from support.programs import small_program

BASE = """
[renamed.view.ids]
"old orders" = "order"
[renamed.view.keys]
cols = "columns"
[renamed.service.keys]
"quota.near" = "near_limit"
[renamed.command.keys]
mends = "safe_mode"
"params.also" = "aliases"
reread = "on_conflict"
"reread.same" = "unchanged"
"""
OLD = """#:schema ./callsheet.schema.json
# What is mine.

# The table of orders
[view.order] # ours
id = "key"   # not the id
view."old orders".columns = [{ name = "view.order", value = "sku" }]

[service.shop]
quota.near = "X-Near" # dotted
"title" = 'The [view.order] shop'

[command."orders scan"]
help = \"\"\"
[view.order]
mends = true
\"\"\"
mends = false
params = [
  { name = "id", kind = "argument" },
  { name = "sku", also = ["article"] }, # also
]

[[command."orders scan".step]]
as = "old"
call = "getOrder"
args = { orderId = "{id}" }

[[command."orders scan".step]]
call = "createOrder"
body = { sku = "{sku}", mends = 1 }
[command."orders scan".step.reread]
step = "old"
same = "sku"
fail = "no"
"""
NEW = """#:schema ./callsheet.schema.json
# What is mine.

language = 2

# The table of orders
[extend.view.order] # ours
id = "key"   # not the id
"""


def layers(directory: Path, mine: str) -> list[Layer]:
    for name, text in (("base", BASE), ("mine", mine)):
        (directory / name).mkdir(parents=True)
        (directory / name / f"{name}.toml").write_text(text, encoding="utf-8")
    shipped = [Layer(str(CASES / "language"), shipped=True), Layer(str(directory / "base"), shipped=True)]
    return [*shipped, Layer(str(directory / "mine"))]


def upgraded(directory: Path, mine: str) -> Upgrade:
    (only,) = find_upgrades(layers(directory, mine))
    return only


def test_words_change_and_nothing_else(tmp_path: Path) -> None:
    old = OLD.replace('view."old orders".columns', "columns")
    after = upgraded(tmp_path, old).after
    assert after.startswith(NEW)
    expected = old.replace("# What is mine.\n", "# What is mine.\n\nlanguage = 2\n").replace(
        "[view.order] # ours", "[extend.view.order] # ours"
    )
    expected = expected.replace("\n[service.shop]", "\n[extend.service.shop]").replace(
        "quota.near =", "quota.near_limit ="
    )
    expected = expected.replace("mends = false", "safe_mode = false").replace("also = [", "aliases = [")
    expected = expected.replace("step.reread]", "step.on_conflict]").replace("\nsame = ", "\nunchanged = ")
    assert after == expected
    tomllib.loads(after)


def test_it_says_the_same(tmp_path: Path) -> None:
    old = OLD.replace('view."old orders".columns', "columns")
    found = layers(tmp_path, old)
    before = {key: definition.table for key, definition in load_definitions(found).items()}
    (only,) = find_upgrades(found)
    Path(only.path).write_text(only.after, encoding="utf-8")
    again = load_definitions(found)
    assert {key: definition.table for key, definition in again.items()} == before
    assert again.notes == []
    assert [each.changes for each in find_upgrades(found)] == [0]


NOW = "language = 2\n\n"
CASES_OF_HEADERS = [
    ("a key of the whole file", 'view.order.id = "x"\n', NOW + 'extend.view.order.id = "x"\n'),
    ("a table of the kind", '[view]\norder.id = "x"\n', NOW + '[extend.view]\norder.id = "x"\n'),
    ("one in a line", '[view]\norder = { id = "x" }\n', NOW + '[extend.view]\norder = { id = "x" }\n'),
    (
        "a part of one",
        '[[view.order.detail]]\ntitle = "x"\n',
        NOW + '[[extend.view.order.detail]]\ntitle = "x"\n',
    ),
    ("a new one", '[view.mine]\nlike = "order"\n', NOW + '[view.mine]\nlike = "order"\n'),
    ("a removal", "[view.order]\nremove = true\n", NOW + "[extend.view.order]\nremove = true\n"),
    ("an old id", '[view."old orders"]\nid = "x"\n', NOW + '[extend.view.order]\nid = "x"\n'),
    (
        "an old id that extends",
        '[extend.view."old orders"]\nid = "x"\n',
        NOW + '[extend.view.order]\nid = "x"\n',
    ),
    (
        "a version",
        'language = 1 # old\n[view.order]\nid = "x"\n',
        'language = 2 # old\n[extend.view.order]\nid = "x"\n',
    ),
    ("defaults", "[defaults.view]\ncols = []\n[view.a]\n", NOW + "[defaults.view]\ncolumns = []\n[view.a]\n"),
    ("nothing at all", "# only this\n", "# only this\nlanguage = 2\n\n"),
    ("an empty file", "", NOW + ""),
    ("up to date", 'language = 2\n[extend.view.order]\nid = "x"\n', 'language = 2\n[extend.view.order]\nid = "x"\n'),
]


@pytest.mark.parametrize(("old", "new"), [c[1:] for c in CASES_OF_HEADERS], ids=[c[0] for c in CASES_OF_HEADERS])
def test_each_form_of_a_table_is_rewritten(old: str, new: str, tmp_path: Path) -> None:
    assert upgraded(tmp_path, old).after == new


def test_what_only_a_person_can_divide_is_told(tmp_path: Path) -> None:
    text = '# mine\n[view]\norder.id = "x"\nmine.columns = []\n'
    with pytest.raises(DefinitionError) as caught:
        upgraded(tmp_path, text)
    told = "[view] holds new definitions and changes of others: give each a table of its own"
    assert caught.value.message == f"{tmp_path / 'mine' / 'mine.toml'}:2: {told}"


def test_the_command_rewrites_the_files_of_a_person(tmp_path: Path) -> None:
    directory = small_program(tmp_path)
    path = directory / "mine.toml"
    path.write_bytes(b"# mine\r\n[command.version]\r\nmends = true # so\r\n")
    environ = {"CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(tmp_path / "cache")}
    shown = run_program("shop", ["definitions", "upgrade", "--diff"], environ)
    assert "+[extend.command.version]" in shown.stdout.decode()
    assert path.read_bytes().endswith(b"mends = true # so\r\n")
    done = run_program("shop", ["definitions", "upgrade"], environ)
    assert (done.exit, done.stdout.decode().splitlines()[-1]) == (0, f"{directory / 'program.toml'}: 1 change")
    assert path.read_bytes() == b"# mine\r\nlanguage = 2\r\n\r\n[extend.command.version]\r\nsafe_mode = true # so\r\n"
    again = run_program("shop", ["definitions", "upgrade"], environ)
    assert (again.exit, again.stdout, again.stderr) == (0, b"", "note: every file is up to date\n")
    assert run_program("shop", ["definitions", "check"], environ).exit == 0


def test_one_file_can_be_named(tmp_path: Path) -> None:
    small_program(tmp_path)
    other = tmp_path / "other.toml"
    other.write_text('[command.version]\nhelp = "Mine"\n', encoding="utf-8")
    environ = {"CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(tmp_path / "cache")}
    done = run_program("shop", ["definitions", "upgrade", str(other)], environ)
    assert (done.exit, done.stdout.decode()) == (0, f"{other}: 2 changes\n")
    assert "[extend.command.version]" in other.read_text(encoding="utf-8")
    missing = run_program("shop", ["definitions", "upgrade", str(tmp_path / "none")], environ)
    assert missing.exit == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'\xef\xbb\xbf[view.order]\nid = "key"', b'\xef\xbb\xbflanguage = 2\n\n[extend.view.order]\nid = "key"'),
        (
            b'# a\r\n\r\n[view.order]\nid = "key"\r\n',
            b'# a\r\n\r\nlanguage = 2\r\n\r\n[extend.view.order]\nid = "key"\r\n',
        ),
        (b'[view.order]\nid = "key" # \xc3\xa9\r\n', b'language = 2\n\n[extend.view.order]\nid = "key" # \xc3\xa9\r\n'),
        (b"# only a comment", b"# only a comment\nlanguage = 2\n\n"),
        (b"# two\r\n# lines", b"# two\r\n# lines\r\nlanguage = 2\r\n\r\n"),
        (b"", b"language = 2\n\n"),
    ],
)
def test_every_other_byte_stays(tmp_path: Path, before: bytes, after: bytes) -> None:
    found = layers(tmp_path, "")
    path = tmp_path / "mine" / "mine.toml"
    path.write_bytes(before)
    (only,) = find_upgrades(found)
    assert only.written == after
    path.write_bytes(only.written)
    (again,) = find_upgrades(found)
    assert again.written == after


def test_a_file_of_the_newest_version_gets_new_ids_too(tmp_path: Path) -> None:
    mine = 'language = 2 # mine\n\n[extend.view."old orders"] # ours\nid = "key"\n'
    found = layers(tmp_path, mine)
    (only,) = find_upgrades(found)
    assert (only.after, only.changes) == (mine.replace('"old orders"', "order"), 1)
    Path(only.path).write_bytes(only.written)
    assert load_definitions(found).notes == []
    assert [each.changes for each in find_upgrades(found)] == [0]
