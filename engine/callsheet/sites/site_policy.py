"""The policy that holds where a site is in use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ..catalog.catalog import Catalog
from ..policy.load import load_policy, of_site
from ..policy.policy import Policy, PolicySource
from .profiles.choose import Variables

VARIABLE = "POLICY"


class CatalogNames:
    """What the rules of a policy may mention, out of the definitions."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @property
    def program(self) -> str:
        return self._catalog.program

    def operation(self, name: str) -> str | None:
        found = self._catalog.find("operation", name)
        return self._catalog.canonical("operation", name) if found is not None else None

    def operations(self) -> Collection[str]:
        return self._catalog.ids("operation")

    def kinds(self) -> Collection[str]:
        return self._catalog.ids("container")


def policy_here(
    catalog: Catalog,
    variables: Variables,
    environ: Mapping[str, str],
    *,
    sites: Mapping[str, Mapping[str, Any]] = {},
    restrictions: Iterable[PolicySource] = (),
    warn: Callable[[str], None] = lambda _: None,
) -> Policy:
    """What machine, `sites` (settings by name), environment and `restrictions` of whoever runs this say together.

    Raises `UsageError` or `NotAllowed` where it cannot be known what is forbidden.
    """
    names = CatalogNames(catalog)
    own = [source for name, settings in sites.items() for source in of_site(name, settings, names)]
    return load_policy(variables.name(VARIABLE), environ, names, own=[*own, *restrictions], warn=warn)
