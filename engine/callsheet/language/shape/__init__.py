"""What each kind of definition may contain. A new kind is a line in `KINDS`."""

from __future__ import annotations

from typing import Any

from . import access, agents, base, commands, listener, resources, rest, richtext, sandbox, steps
from .base import Rules
from .commands import (
    CommandDefinition,
    GroupDefinition,
    InputDefinition,
    PaletteDefinition,
    PartDefinition,
    ProgramDefinition,
    ViewDefinition,
)
from .resources import AddressDefinition
from .rest import (
    OperationDefinition,
    PaginatorDefinition,
    ParameterDefinition,
    ProductDefinition,
    SchemaDefinition,
    ServiceDefinition,
)

KINDS: dict[str, Any] = {
    "program": ProgramDefinition,
    "service": ServiceDefinition,
    "product": ProductDefinition,
    "paginator": PaginatorDefinition,
    "parameter": ParameterDefinition,
    "schema": SchemaDefinition,
    "operation": OperationDefinition,
    "view": ViewDefinition,
    "group": GroupDefinition,
    "command": CommandDefinition,
    "input": InputDefinition,
    "palette": PaletteDefinition,
    "part": PartDefinition,
    **access.KINDS,
    **agents.KINDS,
    **listener.KINDS,
    **richtext.KINDS,
    **sandbox.KINDS,
    **steps.KINDS,
    **base.KINDS,
    **resources.KINDS,
}

# The tables of a resource that are compiled as kinds of their own.
PARTS: dict[str, Any] = {
    "lookup": steps.LookupDefinition,
    "naming": steps.NamingDefinition,
    "snapshot": steps.SnapshotDefinition,
    "address": AddressDefinition,
}

# What completes a parameter besides the engine's own completers: ids of a kind, or the columns of a command's view.
COMPLETED = (*KINDS, "column")

RULES: Rules = {
    **access.RULES,
    **commands.RULES,
    **agents.RULES,
    **listener.RULES,
    **resources.RULES,
    **rest.RULES,
    **sandbox.RULES,
    **steps.RULES,
}
