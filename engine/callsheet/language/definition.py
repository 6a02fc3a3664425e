"""What is read out of definition files: a file, one merged table, and all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from .locate import Path

DEFAULTS = "defaults"
PROGRAM = "program"  # the kind


class SourceFile(NamedTuple):
    path: str
    layer: int
    depth: int
    tables: dict[str, Any]


class Definition:
    """One merged table, and the files that had a say in it, in the order they are laid over one another.

    `laid` is what each of the files says. `inherited` are the definitions that it is built on, each with the place in
    the table that it fills.
    """

    __slots__ = ("files", "id", "inherited", "kind", "laid", "table")

    def __init__(self, kind: str, id: str, table: dict[str, Any], file: SourceFile) -> None:
        self.kind = kind
        self.id = id
        self.table = table
        self.files = [file]
        self.laid = [table]
        self.inherited: list[tuple[Path, Definition]] = []


class Definitions(dict[tuple[str, str], Definition]):
    """By kind and id. `removed` are those that a later file took away; the last of their files is that one.

    `idle` are removals of what is not there, as an error says them. The first `shipped` layers came with the package.
    """

    def __init__(self) -> None:
        super().__init__()
        self.idle: list[str] = []
        self.shipped = 0
        self.removed: dict[tuple[str, str], Definition] = {}
