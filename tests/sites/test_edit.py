"""Changing the profiles file key by key: tables are made and gone into, what is empty afterwards is taken away."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.errors import UsageError
from callsheet.sites.profiles.edit import edit_profiles, put_setting, put_site, remove_site, split_key, typed_setting
from support.cases import nobody

BEFORE = '# mine\nsite = "work"\n\n[sites.work]\nbase_url = "https://w.org" # here\nrps = 5\n'


def changed(text: str, keys: tuple[str, ...], value: Any) -> str:
    document = tomlkit.parse(text)
    put_setting(document, keys, value)
    return tomlkit.dumps(document)


def test_a_key_is_set_changed_and_taken_away_beside_what_stays() -> None:
    assert changed(BEFORE, ("sites", "work", "rps"), 7) == BEFORE.replace("rps = 5", "rps = 7")
    assert changed(BEFORE, ("sites", "work", "rps"), None) == BEFORE.replace("rps = 5\n", "")
    assert changed(BEFORE, ("sites", "work", "project"), "DEMO") == BEFORE + 'project = "DEMO"\n'
    assert changed(BEFORE, ("site",), "home") == BEFORE.replace('"work"', '"home"')


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("sites", "work", "rps"), 5),
        (("sites", "work", "project"), None),
        (("sites", "home", "rps"), None),
        (("sites", "work", "services", "wiki", "email"), None),
    ],
)
def test_what_is_so_already_changes_nothing(keys: tuple[str, ...], value: Any) -> None:
    assert changed(BEFORE, keys, value) == BEFORE


def test_tables_that_hold_tables_alone_get_no_head_of_their_own() -> None:
    made = changed("", ("sites", "work", "services", "wiki", "email"), "a@b.c")
    assert made == '[sites.work]\n[sites.work.services.wiki]\nemail = "a@b.c"\n'


def test_a_site_is_written_leaf_by_leaf() -> None:
    document = tomlkit.parse(BEFORE)
    put_site(document, "work", {"rps": None, "output": "json", "services": {"wiki": {"email": "e", "store": None}}})
    assert document["sites"]["work"] == {  # type: ignore[index]
        "base_url": "https://w.org",
        "output": "json",
        "services": {"wiki": {"email": "e"}},
    }


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (BEFORE, {}),
        (BEFORE + '[sites.home]\nbase_url = "https://h.org"\n', {"sites": {"home": {"base_url": "https://h.org"}}}),
        ('site = "home"\n[sites.work]\n[sites.home]\n', {"site": "home", "sites": {"home": {}}}),
        ('site = "work"\n', {}),
        ("", {}),
    ],
)
def test_a_removed_site_leaves_nothing_of_itself(text: str, left: dict[str, Any]) -> None:
    document = tomlkit.parse(text)
    remove_site(document, "work")
    assert document.unwrap() == left


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("site", "work", "work"),
        ("sites.w.project", "007", "007"),
        ("sites.w.rps", "2.5", 2.5),
        ("sites.w.rps", "", ""),
        ("sites.w.read_only", "true", True),
        ("sites.w.scopes", "read:a, read:b  write:c,", ["read:a", "read:b", "write:c"]),
        ("sites.w.services.wiki.email", "true", "true"),
    ],
)
def test_a_value_is_what_its_key_wants(key: str, text: str, value: Any) -> None:
    assert typed_setting(split_key(key), text) == value


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("sites.w.read_only", "yes", "sites.w.read_only: expected true or false, got 'yes'"),
        ("sites.w.rps", "fast", "sites.w.rps: expected a number, got 'fast'"),
        ("sites.w.rpz", "1", "sites.w.rpz: no such key, did you mean 'rps'?"),
        ("sit", "1", "sit: no such key, did you mean 'site'?"),
        ("sites.w.services.wiki.emal", "1", "sites.w.services.wiki.emal: no such key, did you mean 'email'?"),
        ("sites.w.services.wiki.rps", "1", "sites.w.services.wiki.rps: no such key"),
        ("sites.w", "1", "sites.w: no such key"),
        ("sites.w.other.wiki.email", "1", "sites.w.other.wiki.email: no such key"),
        ("others.w.email", "1", "others.w.email: no such key"),
        ("sites.w.services", "1", "sites.w.services: that is a table; set one of its keys"),
        ("sites", "1", "sites: that is a table; set one of its keys"),
    ],
)
def test_a_value_that_is_not_is_refused(key: str, text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        typed_setting(split_key(key), text)
    assert caught.value.message.startswith(problem)


def test_a_key_is_split_as_in_toml() -> None:
    assert split_key('sites."a.b".rps') == ("sites", "a.b", "rps")
    for wrong in ("", "a..b", "a b", "a]"):
        with pytest.raises(UsageError, match="is not a valid key"):
            split_key(wrong)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Any:
    opened: Catalog = open_catalog("suite", nobody(tmp_path_factory))
    yield opened
    opened.close()


def test_a_file_keeps_its_mode_and_is_not_written_for_nothing(tmp_path: Path, catalog: Catalog) -> None:
    path, environ = tmp_path / "profiles.toml", {"CALLSHEET_HOME": str(tmp_path)}
    path.write_text(BEFORE, encoding="utf-8")
    path.chmod(0o640)
    before = path.stat()
    with edit_profiles(catalog, environ) as document:
        put_setting(document, ("site",), "work")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    with edit_profiles(catalog, environ) as document:
        put_setting(document, ("sites", "work", "rps"), 6)
    assert path.read_text(encoding="utf-8") == BEFORE.replace("rps = 5", "rps = 6")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_change_that_would_break_the_file_is_not_written(tmp_path: Path, catalog: Catalog) -> None:
    path, environ = tmp_path / "profiles.toml", {"CALLSHEET_HOME": str(tmp_path)}
    path.write_text(BEFORE, encoding="utf-8")
    with pytest.raises(UsageError, match=r"sites\.work\.rps: ") as caught, edit_profiles(catalog, environ) as document:
        put_setting(document, ("sites", "work", "rps"), -1)
    assert caught.value.hint == f"{path} stays as it is"
    assert path.read_text(encoding="utf-8") == BEFORE
    path.write_text(BEFORE + "oops = 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match="1 problem in ") as caught, edit_profiles(catalog, environ) as document:
        put_setting(document, ("sites", "work", "rps"), 7)
    assert "sites.work.oops: unknown key" in caught.value.details[0]
