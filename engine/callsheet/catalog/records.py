"""Definitions by kind, each typed as the shape that declares it: a key that no shape has fails the type check.

At run time they are plain dicts, and nothing of the shapes is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ..errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from ..language.shape.access import (
        AuthDefinition,
        DeploymentDefinition,
    )
    from ..language.shape.agents import CompiledHost, ContainerDefinition, ToolsetDefinition
    from ..language.shape.base import RenamedDefinition
    from ..language.shape.commands import (
        CompiledCommand,
        GroupDefinition,
        InputDefinition,
        PaletteDefinition,
        PartDefinition,
        ProgramDefinition,
        ViewDefinition,
    )
    from ..language.shape.listener import (
        BrokerDefinition,
        EnvelopeDefinition,
        EventDefinition,
        ListenerDefinition,
        QueueDefinition,
        RouteDefinition,
        SourceDefinition,
    )
    from ..language.shape.resources import AddressDefinition, ResourceDefinition
    from ..language.shape.rest import (
        CompiledOperation,
        PaginatorDefinition,
        ParameterDefinition,
        ProductDefinition,
        SchemaDefinition,
        ServiceDefinition,
    )
    from ..language.shape.richtext import (
        NodeDefinition,
    )
    from ..language.shape.sandbox import EntityDefinition, QueryDefinition, SimulationDefinition
    from ..language.shape.steps import Assignment, LookupDefinition, NamingDefinition, SharedSteps, SnapshotDefinition


_Table = TypeVar("_Table")


class Kind(Generic[_Table]):
    """The definitions of one kind. `get` raises `UsageError` that names the closest match; `find` gives None."""

    def __init__(self, name: str, catalog: Records | None = None) -> None:
        self._name = name
        self._catalog: Any = catalog

    def __get__(self, catalog: Records, owner: type) -> Self:
        return type(self)(self._name, catalog)

    def find(self, id: str) -> _Table | None:
        found: _Table | None = self._catalog.record(self._name, id)
        return found

    def get(self, id: str) -> _Table:
        if (found := self.find(id)) is None:
            raise UsageError(f"unknown {self._name} {id!r}{did_you_mean(id, self.ids())}")
        return found

    def all(self) -> dict[str, _Table]:
        """By id, in the order of the definition files."""
        found: dict[str, _Table] = self._catalog.records_of_kind(self._name)
        return found

    def ids(self, prefix: str = "") -> list[str]:
        found: list[str] = self._catalog.ids(self._name, prefix)
        return found


class Records:
    """One attribute for each kind. What has these needs `record`, `records_of_kind` and `ids` of its own."""

    programs: Kind[ProgramDefinition] = Kind("program")
    services: Kind[ServiceDefinition] = Kind("service")
    products: Kind[ProductDefinition] = Kind("product")
    paginators: Kind[PaginatorDefinition] = Kind("paginator")
    parameters: Kind[ParameterDefinition] = Kind("parameter")
    schemas: Kind[SchemaDefinition] = Kind("schema")
    operations: Kind[CompiledOperation] = Kind("operation")
    views: Kind[ViewDefinition] = Kind("view")
    groups: Kind[GroupDefinition] = Kind("group")
    commands: Kind[CompiledCommand] = Kind("command")
    inputs: Kind[InputDefinition] = Kind("input")
    renamings: Kind[RenamedDefinition] = Kind("renamed")
    addresses: Kind[AddressDefinition] = Kind("address")
    palettes: Kind[PaletteDefinition] = Kind("palette")
    view_parts: Kind[PartDefinition] = Kind("part")
    auth_methods: Kind[AuthDefinition] = Kind("auth")
    deployments: Kind[DeploymentDefinition] = Kind("deployment")
    hosts: Kind[CompiledHost] = Kind("host")
    listeners: Kind[ListenerDefinition] = Kind("listener")
    sources: Kind[SourceDefinition] = Kind("source")
    events: Kind[EventDefinition] = Kind("event")
    envelopes: Kind[EnvelopeDefinition] = Kind("envelope")
    routes: Kind[RouteDefinition] = Kind("route")
    nodes: Kind[NodeDefinition] = Kind("node")
    lookups: Kind[LookupDefinition] = Kind("lookup")
    assignments: Kind[Assignment] = Kind("assignment")
    shared_steps: Kind[SharedSteps] = Kind("steps")
    entities: Kind[EntityDefinition] = Kind("entity")
    simulations: Kind[SimulationDefinition] = Kind("simulation")
    query_languages: Kind[QueryDefinition] = Kind("query")
    containers: Kind[ContainerDefinition] = Kind("container")
    namings: Kind[NamingDefinition] = Kind("naming")
    snapshots: Kind[SnapshotDefinition] = Kind("snapshot")
    queues: Kind[QueueDefinition] = Kind("queue")
    brokers: Kind[BrokerDefinition] = Kind("broker")
    resources: Kind[ResourceDefinition] = Kind("resource")
    toolsets: Kind[ToolsetDefinition] = Kind("toolset")
