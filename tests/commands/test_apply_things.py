"""Things that files of TOML and YAML name: only named fields are managed, and nothing is done twice."""

from __future__ import annotations

from typing import Any

import pytest

from commands.test_apply import Site, cloud, site

__all__ = ["cloud", "site"]

VERSIONS = """
resource = "version"
project = "DEMO"

[[things]]
name = "7.0"
description = "Seven"
releaseDate = 2026-12-01

[[things]]
name = "8.0"
"""


BOARD = """
resource: board
project: DEMO
name: Work
type: kanban
filterId: {resource: filter, name: Mine too}
"""


def apply(site: Site, *words: str) -> int:
    return site("apply", str(site.docs), *words)


def version(site: Site, name: str) -> dict[str, Any]:
    return next(row for row in site.rows("projects", "versions", "DEMO") if row["name"] == name)


def test_what_a_file_names_is_made_once_and_only_that_is_managed(site: Site) -> None:
    site.write("releases.toml", VERSIONS)
    assert apply(site) == 0, site.err
    assert version(site, "7.0")["description"] == "Seven"
    assert version(site, "7.0")["releaseDate"] == "2026-12-01"
    assert apply(site) == 0, site.err
    assert site.writes == []
    seven = version(site, "7.0")["id"]
    assert site("versions", "update", seven, "-d", '{"startDate": "2026-11-01"}') == 0, site.err
    assert apply(site) == 0, site.err
    assert site.writes == []
    site.write("releases.toml", VERSIONS.replace('"Seven"', '"Sieben"'))
    assert apply(site) == 0, site.err
    assert len(site.writes) == 1
    assert version(site, "7.0")["description"] == "Sieben"
    assert version(site, "7.0")["startDate"] == "2026-11-01"


def test_what_both_changed_is_told_and_what_only_the_site_changed_stays(site: Site) -> None:
    site.write("releases.toml", VERSIONS)
    assert apply(site) == 0, site.err
    id = version(site, "7.0")["id"]
    assert site("versions", "update", id, "-d", '{"description": "Septem"}') == 0, site.err
    assert apply(site) == 0, site.err
    assert site.writes == []
    site.write("releases.toml", VERSIONS.replace('"Seven"', '"Sieben"'))
    assert apply(site) == 5
    assert "'Sieben' in the file, 'Septem' on the site" in site.err
    assert apply(site, "--ours") == 0, site.err
    assert version(site, "7.0")["description"] == "Sieben"


def test_what_is_gone_from_the_files_goes_with_prune(site: Site) -> None:
    site.write("releases.toml", VERSIONS)
    assert apply(site) == 0, site.err
    site.write("releases.toml", VERSIONS.partition('[[things]]\nname = "8.0"')[0])
    assert apply(site) == 0, site.err
    assert site.writes == []
    assert apply(site, "--prune") == 2
    assert apply(site, "--prune", "--yes") == 0, site.err
    assert "8.0" not in [row["name"] for row in site.rows("projects", "versions", "DEMO")]
    assert apply(site, "--prune") == 0, site.err


def test_one_thing_in_yaml_and_references_by_name(cloud: Site) -> None:
    cloud.write(
        "a/board.yaml",
        "resource: board\nproject: DEMO\nname: Work\ntype: kanban\nfilterId: {resource: filter, name: Mine too}\n",
    )
    cloud.write("z/filter.yaml", "resource: filter\nname: Mine too\njql: project = DEMO\n")
    assert apply(cloud) == 0, cloud.err
    assert [row["name"] for row in cloud.rows("filters", "list") if row["name"] == "Mine too"]
    assert apply(cloud) == 0, cloud.err
    assert cloud.writes == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('resource = "versio"\nname = "1"', "did you mean 'version'"),
        ('resource = "version"\nnam = "1"', "did you mean 'name'"),
        ('resource = "version"\nname = "1"\nproject = "NONE"', "NONE"),
        ('resource = "version"\nthings = 1', "expected a list of tables"),
        ('resource = "version', "x.toml: "),
        ('# next\n\nresource = "version', "x.toml: "),
        ("resource: version\nname: &n '1'\ndescription: *n\n", "line 3: no *n here"),
        ("# next\nresource: version\nname: [1\n", "x.yaml: "),
        ('resource = "version"\nname = "9"', "hint: say which project"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_before_anything_is_sent(cloud: Site, text: str, words: str) -> None:
    name = "x.yaml" if "resource:" in text else "x.toml"
    cloud.write(name, text)
    assert apply(cloud) == 2
    assert name in cloud.err
    assert words in cloud.err
    assert cloud.writes == []


def test_what_is_pulled_is_applied_without_a_change(site: Site) -> None:
    assert site("pull", str(site.docs), "version", "component", "--project", "DEMO") == 0, site.err
    text = (site.docs / "versions-demo.toml").read_text(encoding="utf-8")
    assert 'resource = "version"' in text
    assert apply(site) == 0, site.err
    assert site.writes == []
    (site.docs / "versions-demo.toml").write_text(text.replace("released = true", "released = false"), encoding="utf-8")
    assert apply(site) == 0, site.err
    assert site.writes


def test_undo_removes_what_was_made(site: Site) -> None:
    site.write("releases.toml", VERSIONS)
    journal = str(site.home / "j.jsonl")
    assert apply(site, "--journal", journal) == 0, site.err
    assert site("versions", "update", version(site, "8.0")["id"], "-d", '{"description": "Theirs"}') == 0, site.err
    assert site("undo", journal, "--yes") == 1, site.err
    names = [row["name"] for row in site.rows("projects", "versions", "DEMO")]
    assert "7.0" not in names
    assert "8.0" in names
    assert site("undo", journal, "--yes", "--force") == 0, site.err
    assert "8.0" not in [row["name"] for row in site.rows("projects", "versions", "DEMO")]
