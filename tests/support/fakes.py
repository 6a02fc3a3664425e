"""Stand-ins for the catalog and the site, where a test is not about them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import Any

from callsheet.catalog.catalog import Catalog
from callsheet.catalog.records import Records
from callsheet.policy.policy import Policy
from support.canary import TOKEN, basic


class Definitions(Records):
    """Definitions out of TOML text, found as in the catalog."""

    def shipped_paths(self) -> list[Any]:
        return []

    def __init__(self, text: str) -> None:
        self.tables: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(text)
        self.reached: list[tuple[str, str]] = []

    def record(self, kind: str, id: str) -> dict[str, Any] | None:
        self.reached.append((kind, id))
        return self.tables.get(kind, {}).get(id)

    def records_of_kind(self, kind: str) -> dict[str, dict[str, Any]]:
        return self.tables.get(kind, {})

    def ids(self, kind: str, prefix: str = "") -> list[str]:
        return [*self.tables.get(kind, {})]


class Kept(Records):
    """Definitions of a real catalog, read once where a test judges by all of them again and again."""

    def __init__(self, catalog: Catalog) -> None:
        self.tables = {kind: catalog.records_of_kind(kind) for kind in ("operation", "product")}

    def shipped_paths(self) -> list[Any]:
        return []

    def records_of_kind(self, kind: str) -> dict[str, dict[str, Any]]:
        return self.tables[kind]


@dataclass
class FakeSite:
    root: str = "https://site.example"
    deployment: str = "cloud"
    authorization: str = basic("robin")
    roots: dict[str, str] = field(default_factory=dict)
    ca_bundle: str | None = None
    client_cert: str | tuple[str, str] | None = None
    proxy: str | None = None
    rps: float | None = None
    timeout: float | None = 5.0
    name: str = "here"
    known_as: frozenset[str] = frozenset()
    policy: Policy = field(default_factory=Policy)

    def base_url(self, service: str) -> str:
        return self.roots.get(service, self.root)

    def query(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return ()

    def body(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return ()

    def headers(self, service: str) -> dict[str, str]:
        return {"Authorization": self.authorization} if self.authorization else {}

    def secrets(self) -> list[str]:
        return [TOKEN, self.authorization.partition(" ")[2]]


class FakeClock:
    """A clock that only sleeping moves; `slept` are the lengths."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def __call__(self) -> float:
        return self.time

    @property
    def total(self) -> float:
        return sum(self.slept)
