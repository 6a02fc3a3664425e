"""The example profiles: complete, valid, and what the documentation says about them."""

from __future__ import annotations

import tomllib

import pytest

from callsheet.sites.profiles.validate import Access, Profiles, SiteProfile
from support.places import ROOT
from support.shell import Shell

EXAMPLE = (ROOT / "profiles.example.toml").read_text()


def test_it_is_valid(shell: Shell) -> None:
    shell.write_profiles(EXAMPLE)
    done = shell("config", "list-sites", "-o", "id")
    assert (done.code, done.out.split()) == (0, list(tomllib.loads(EXAMPLE)["sites"]))


def test_it_shows_every_key() -> None:
    tables = tomllib.loads(EXAMPLE)
    sites = tables["sites"].values()
    assert set(tables) == set(Profiles.__annotations__)
    assert {key for site in sites for key in site} == set(SiteProfile.__annotations__) - {"token_file"}
    services = {key for site in sites for access in site.get("services", {}).values() for key in access}
    assert services == set(Access.__annotations__) - {"store"}


@pytest.mark.parametrize("key", sorted({*SiteProfile.__annotations__, *Profiles.__annotations__}))
def test_every_key_is_documented(key: str) -> None:
    assert f"`{key}`" in (ROOT / "docs" / "sites.md").read_text()


def test_every_line_says_what_it_is_for() -> None:
    """Each key has a comment the first time it stands there, or its section has."""
    seen: set[str] = set()
    for line in EXAMPLE.splitlines():
        key = line.partition(" =")[0]
        if " = " in line and not line.startswith("#") and key not in seen:
            seen.add(key)
            assert "#" in line or key in ("token_env", "client_id"), line
