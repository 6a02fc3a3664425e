"""What policies judge by stays as it was shipped, where a person's own definitions would make it milder.

Definitions are files that an agent may be able to write; a policy that follows them would follow the agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .merge import ON, deployment_variants, lay_over
from .safety import Safety, class_here, class_of_operation, is_milder
from .source_file import Definition, Definitions

if TYPE_CHECKING:
    from .shape.rest import OperationDefinition

OPERATION, CONTAINER = "operation", "container"


def hold_classes(definitions: Definitions) -> None:
    """Give each shipped operation that a person's file changes its shipped class back, where that is worse."""
    for definition in definitions.values():
        if definition.kind == OPERATION and (shipped := _as_shipped(definition)) is not None:
            _raise_to(definition.table, class_of_operation(shipped))


def hold_containers(definitions: Definitions) -> None:
    """Which requests are about a project, say: a rule would miss those that a person's file takes out."""
    known = [*definitions.items(), *definitions.removed.items()]
    for key, definition in known:
        if definition.kind == CONTAINER and (shipped := shipped_table(definition)) is not None:
            definition.table = shipped
            definitions[key] = definition


def own_definitions(definitions: Definitions, *kinds: str) -> Iterator[Definition]:
    """Those that are not, or not only, what comes with the program."""
    for definition in definitions.values():
        if definition.kind in kinds and not all(file.shipped for file in definition.files):
            yield definition


def shipped_paths(definitions: Definitions) -> list[tuple[str, Safety, str]]:
    """Method and path, class and id of shipped operations that a person's files change or remove.

    A request with such a path is still what it was, whatever another definition calls it.
    """
    touched = [
        *own_definitions(definitions, OPERATION),
        *(each for each in definitions.removed.values() if each.kind == OPERATION),
    ]
    shipped = [(each.id, table) for each in touched if (table := _as_shipped(each)) is not None]
    return [
        (here["http"], class_here(here), id)
        for id, table in shipped
        for here in (table, *deployment_variants(table).values())
        if isinstance(here.get("http"), str)
    ]


def _as_shipped(definition: Definition) -> OperationDefinition | None:
    """The operation as it comes with the program; None where it does, or where none of it does."""
    table = shipped_table(definition)
    return table if table is not None and isinstance(table.get("http"), str) else None


def shipped_table(definition: Definition) -> Any:
    own = [not file.shipped for file in definition.files]
    if not any(own) or all(own):
        return None
    table: dict[str, Any] = {}
    for file, laid in zip(definition.files, definition.laid, strict=False):  # a removal lays nothing
        if file.shipped:
            table = lay_over(table, laid)
    return table


def _raise_to(table: OperationDefinition, least: Safety) -> None:
    if isinstance(table.get("http"), str) and is_milder(class_here(table), least):
        table["safety"] = least
    for deployment, here in deployment_variants(table).items():
        if isinstance(here.get("http"), str) and is_milder(class_here(here), least):
            whole: Any = table  # no person can write a class there
            whole[ON] = {**whole[ON], deployment: {**whole[ON][deployment], "safety": least}}
