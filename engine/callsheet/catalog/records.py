"""Definitions by kind, each typed as the shape that declares it: a key that no shape has fails the type check.

At run time they are plain dicts, and nothing of the shapes is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from typing import Literal, overload

    from ..language.shape.access import (
        AuthDefinition,
        DeploymentDefinition,
    )
    from ..language.shape.commands import (
        AddressDefinition,
        GroupDefinition,
        InputDefinition,
        ProgramDefinition,
        ViewDefinition,
    )
    from ..language.shape.compiled import CompiledCommand, CompiledOperation
    from ..language.shape.listener import (
        EventDefinition,
        ListenerDefinition,
        QueueDefinition,
        RouteDefinition,
        SourceDefinition,
    )
    from ..language.shape.policy import ContainerDefinition
    from ..language.shape.rest import (
        PaginatorDefinition,
        ParameterDefinition,
        ProductDefinition,
        SchemaDefinition,
        ServiceDefinition,
    )
    from ..language.shape.richtext import (
        NodeDefinition,
    )
    from ..language.shape.steps import (
        Assignment,
        LookupDefinition,
        NamingDefinition,
    )

    class Records:
        """`get` raises `UsageError` that names the closest match; `find` gives None; `all` is by id."""

        @overload
        def get(self, kind: Literal["program"], id: str) -> ProgramDefinition: ...

        @overload
        def get(self, kind: Literal["service"], id: str) -> ServiceDefinition: ...

        @overload
        def get(self, kind: Literal["product"], id: str) -> ProductDefinition: ...

        @overload
        def get(self, kind: Literal["paginator"], id: str) -> PaginatorDefinition: ...

        @overload
        def get(self, kind: Literal["parameter"], id: str) -> ParameterDefinition: ...

        @overload
        def get(self, kind: Literal["schema"], id: str) -> SchemaDefinition: ...

        @overload
        def get(self, kind: Literal["operation"], id: str) -> CompiledOperation: ...

        @overload
        def get(self, kind: Literal["view"], id: str) -> ViewDefinition: ...

        @overload
        def get(self, kind: Literal["group"], id: str) -> GroupDefinition: ...

        @overload
        def get(self, kind: Literal["command"], id: str) -> CompiledCommand: ...

        @overload
        def get(self, kind: Literal["input"], id: str) -> InputDefinition: ...

        @overload
        def get(self, kind: Literal["address"], id: str) -> AddressDefinition: ...

        @overload
        def get(self, kind: Literal["auth"], id: str) -> AuthDefinition: ...

        @overload
        def get(self, kind: Literal["deployment"], id: str) -> DeploymentDefinition: ...

        @overload
        def get(self, kind: Literal["listener"], id: str) -> ListenerDefinition: ...

        @overload
        def get(self, kind: Literal["source"], id: str) -> SourceDefinition: ...

        @overload
        def get(self, kind: Literal["event"], id: str) -> EventDefinition: ...

        @overload
        def get(self, kind: Literal["route"], id: str) -> RouteDefinition: ...

        @overload
        def get(self, kind: Literal["node"], id: str) -> NodeDefinition: ...

        @overload
        def get(self, kind: Literal["lookup"], id: str) -> LookupDefinition: ...

        @overload
        def get(self, kind: Literal["assignment"], id: str) -> Assignment: ...

        @overload
        def get(self, kind: Literal["container"], id: str) -> ContainerDefinition: ...

        @overload
        def get(self, kind: Literal["naming"], id: str) -> NamingDefinition: ...

        @overload
        def get(self, kind: Literal["queue"], id: str) -> QueueDefinition: ...

        @overload
        def get(self, kind: str, id: str) -> Any: ...

        def get(self, kind: str, id: str) -> Any: ...

        @overload
        def find(self, kind: Literal["program"], id: str) -> ProgramDefinition | None: ...

        @overload
        def find(self, kind: Literal["service"], id: str) -> ServiceDefinition | None: ...

        @overload
        def find(self, kind: Literal["product"], id: str) -> ProductDefinition | None: ...

        @overload
        def find(self, kind: Literal["paginator"], id: str) -> PaginatorDefinition | None: ...

        @overload
        def find(self, kind: Literal["parameter"], id: str) -> ParameterDefinition | None: ...

        @overload
        def find(self, kind: Literal["schema"], id: str) -> SchemaDefinition | None: ...

        @overload
        def find(self, kind: Literal["operation"], id: str) -> CompiledOperation | None: ...

        @overload
        def find(self, kind: Literal["view"], id: str) -> ViewDefinition | None: ...

        @overload
        def find(self, kind: Literal["group"], id: str) -> GroupDefinition | None: ...

        @overload
        def find(self, kind: Literal["command"], id: str) -> CompiledCommand | None: ...

        @overload
        def find(self, kind: Literal["input"], id: str) -> InputDefinition | None: ...

        @overload
        def find(self, kind: Literal["address"], id: str) -> AddressDefinition | None: ...

        @overload
        def find(self, kind: Literal["auth"], id: str) -> AuthDefinition | None: ...

        @overload
        def find(self, kind: Literal["deployment"], id: str) -> DeploymentDefinition | None: ...

        @overload
        def find(self, kind: Literal["listener"], id: str) -> ListenerDefinition | None: ...

        @overload
        def find(self, kind: Literal["source"], id: str) -> SourceDefinition | None: ...

        @overload
        def find(self, kind: Literal["event"], id: str) -> EventDefinition | None: ...

        @overload
        def find(self, kind: Literal["route"], id: str) -> RouteDefinition | None: ...

        @overload
        def find(self, kind: Literal["node"], id: str) -> NodeDefinition | None: ...

        @overload
        def find(self, kind: Literal["lookup"], id: str) -> LookupDefinition | None: ...

        @overload
        def find(self, kind: Literal["assignment"], id: str) -> Assignment | None: ...

        @overload
        def find(self, kind: Literal["container"], id: str) -> ContainerDefinition | None: ...

        @overload
        def find(self, kind: Literal["naming"], id: str) -> NamingDefinition | None: ...

        @overload
        def find(self, kind: Literal["queue"], id: str) -> QueueDefinition | None: ...

        @overload
        def find(self, kind: str, id: str) -> Any: ...

        def find(self, kind: str, id: str) -> Any: ...

        @overload
        def all(self, kind: Literal["program"]) -> dict[str, ProgramDefinition]: ...

        @overload
        def all(self, kind: Literal["service"]) -> dict[str, ServiceDefinition]: ...

        @overload
        def all(self, kind: Literal["product"]) -> dict[str, ProductDefinition]: ...

        @overload
        def all(self, kind: Literal["paginator"]) -> dict[str, PaginatorDefinition]: ...

        @overload
        def all(self, kind: Literal["parameter"]) -> dict[str, ParameterDefinition]: ...

        @overload
        def all(self, kind: Literal["schema"]) -> dict[str, SchemaDefinition]: ...

        @overload
        def all(self, kind: Literal["operation"]) -> dict[str, CompiledOperation]: ...

        @overload
        def all(self, kind: Literal["view"]) -> dict[str, ViewDefinition]: ...

        @overload
        def all(self, kind: Literal["group"]) -> dict[str, GroupDefinition]: ...

        @overload
        def all(self, kind: Literal["command"]) -> dict[str, CompiledCommand]: ...

        @overload
        def all(self, kind: Literal["input"]) -> dict[str, InputDefinition]: ...

        @overload
        def all(self, kind: Literal["address"]) -> dict[str, AddressDefinition]: ...

        @overload
        def all(self, kind: Literal["auth"]) -> dict[str, AuthDefinition]: ...

        @overload
        def all(self, kind: Literal["deployment"]) -> dict[str, DeploymentDefinition]: ...

        @overload
        def all(self, kind: Literal["listener"]) -> dict[str, ListenerDefinition]: ...

        @overload
        def all(self, kind: Literal["source"]) -> dict[str, SourceDefinition]: ...

        @overload
        def all(self, kind: Literal["event"]) -> dict[str, EventDefinition]: ...

        @overload
        def all(self, kind: Literal["route"]) -> dict[str, RouteDefinition]: ...

        @overload
        def all(self, kind: Literal["node"]) -> dict[str, NodeDefinition]: ...

        @overload
        def all(self, kind: Literal["lookup"]) -> dict[str, LookupDefinition]: ...

        @overload
        def all(self, kind: Literal["assignment"]) -> dict[str, Assignment]: ...

        @overload
        def all(self, kind: Literal["container"]) -> dict[str, ContainerDefinition]: ...

        @overload
        def all(self, kind: Literal["naming"]) -> dict[str, NamingDefinition]: ...

        @overload
        def all(self, kind: Literal["queue"]) -> dict[str, QueueDefinition]: ...

        @overload
        def all(self, kind: str) -> Any: ...

        def all(self, kind: str) -> Any: ...

        def ids(self, kind: str, prefix: str = "") -> list[str]: ...

else:

    class Records:
        def get(self, kind: str, id: str) -> Any:
            found = self.record(kind, id)
            if found is None:
                raise UsageError(f"unknown {kind} {id!r}{did_you_mean(id, self.ids(kind))}")
            return found

        def find(self, kind: str, id: str) -> Any:
            return self.record(kind, id)

        def all(self, kind: str) -> Any:
            return self.records(kind)
