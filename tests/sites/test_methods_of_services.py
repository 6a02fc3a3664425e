"""How one signs in to each service of a site."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from callsheet.catalog.catalog import open_catalog
from callsheet.sites.profiles.choose import ChosenSite, Variables
from callsheet.sites.site import Site
from support.programs import small_program

SERVICES = """
[service.own]
title = "Takes tokens only"
auth = ["token"]

[service.other]
title = "Takes what the site does"

[auth.token]
title = "Token"
scheme = "bearer"
"""


def test_a_service_that_takes_other_ways_gets_its_first_one_and_the_others_that_of_the_site(tmp_path: Path) -> None:
    (small_program(tmp_path) / "services.toml").write_text(SERVICES, encoding="utf-8")
    environ = {"CALLSHEET_HOME": str(tmp_path)}
    with closing(open_catalog("shop", environ)) as catalog:
        chosen = ChosenSite("a", {"base_url": "https://a.example", "email": "robin"}, token=True)
        site = Site(chosen, catalog, Variables("SHOP", {}), environ)
        assert (site.method_of("own"), site.method_of("other")) == ("token", "basic")
