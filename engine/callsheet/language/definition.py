"""What is read out of definition files: a file, one merged table, and all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .locate import Path

if TYPE_CHECKING:
    from .merge import Table

DEFAULTS = "defaults"
PROGRAM, RESOURCE = "program", "resource"  # kinds
# A table of a resource → the kind that it is compiled as.
PARTS = {"find": "lookup", "names": "naming", "snapshot": "snapshot", "address": "address"}


class SourceFile(NamedTuple):
    """`tables` are by kind and id, whether they define or extend; `extends` are those that extend.

    `language` is the version that the file is written in; `shipped` ones come with the program. `written` has the ids
    that the file writes for those that have another name now, and `moved` kind and id of what is a table of a resource
    now, by resource and table.
    """

    path: str
    layer: int
    depth: int
    tables: Table
    extends: frozenset[tuple[str, str]] = frozenset()
    language: int = 1
    shipped: bool = False
    written: dict[tuple[str, str], str] = {}  # noqa: RUF012 - made anew for each file that is read
    moved: dict[tuple[str, str], tuple[str, str]] = {}  # noqa: RUF012 - made anew for each file that is read


class Stale(NamedTuple):
    """A definition of a person's that is about something which is gone, and what is told of it."""

    path: str
    kind: str
    id: str
    text: str


class Inherited(NamedTuple):
    """A definition that another one is built on, and the place `at` that it fills there, with what it says `inside`.

    `use` is the place of the step that stands for shared ones, as the file has it.
    """

    at: Path
    base: Definition
    inside: Path = ()
    use: Path = ()


class Definition:
    """One merged table, and the files that had a say in it, in the order they are laid over one another.

    `laid` is what each of the files says. `inherited` are the definitions that it is built on. What is
    a part of a resource is `within` that table of it.
    """

    __slots__ = ("files", "id", "inherited", "kind", "laid", "table", "within")

    table: Any  # of the shape of its kind, once it is checked: a function that reads it says which

    def __init__(self, kind: str, id: str, table: Table, file: SourceFile) -> None:
        self.kind = kind
        self.id = id
        self.table = table
        self.files = [file]
        self.laid = [table]
        self.inherited: list[Inherited] = []
        self.within = ""


class Definitions(dict[tuple[str, str], Definition]):
    """By kind and id. `removed` are those that a later file took away; the last of their files is that one.

    `idle` are removals of what is not there, as an error says them. `stale` are those that are about what is gone, and
    `notes` tell what is called differently now.
    """

    def __init__(self) -> None:
        super().__init__()
        self.idle: list[str] = []
        self.stale: list[Stale] = []
        self.notes: list[str] = []
        self.removed: dict[tuple[str, str], Definition] = {}
