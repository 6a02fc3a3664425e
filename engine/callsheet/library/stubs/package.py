"""The files of a stub package, which a checker of types finds once it is installed (PEP 561)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import __version__
from ...language.identifier import to_identifier
from .annotations import ALIASES, IMPORTS, class_name, is_name
from .bodies import BodyTypes
from .commands import group_stubs
from .operations import operation_stub

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog

_HEAD = "# Made by `callsheet stubs {program}`.\n"
_CALLS = """
_P = _ParamSpec("_P")
_R = _TypeVar("_R")

class _Call(_Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def planned(self, *args: _P.args, **kwargs: _P.kwargs) -> list[_PlannedRequest]: ...

class _Pages(_Call[_P, _Rows]):
    def all(self, most: int | None = ..., /, *args: _P.args, **kwargs: _P.kwargs) -> _Rows: ...
    def pages(self, *args: _P.args, **kwargs: _P.kwargs) -> _Iterator[list[dict[str, _Any]]]: ...

def _called(method: _Callable[_Concatenate[_Any, _P], _R]) -> _Call[_P, _R]: ...
def _paged(method: _Callable[_Concatenate[_Any, _P], _Rows]) -> _Pages[_P]: ...

class _Things:
    def get(self, word: str, **parents: str) -> _Thing: ...
    def list(self, **parents: str) -> _Iterator[_Thing]: ...

"""
_OF_EVERY_PROGRAM = """\
    op: Operations
    def resource(self, name: {resources}) -> _Things: ...
    def command(self, words: str) -> _Call[..., _Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> _Self: ...
    def __exit__(self, *error: object) -> None: ...
"""
_TAKEN = ("op", "resource", "command", "close")
_RESULTS = (
    "from callsheet import PlannedRequest as _PlannedRequest, Record as _Record, Rows as _Rows, Thing as _Thing\n"
)
_PROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "callsheet-{project}-stubs"
version = "{version}"
description = "Types of the program {program} for callsheet"

[tool.hatch.build.targets.wheel]
packages = ["{package}-stubs"]
"""


def package_name(program: str) -> str:
    """What is imported where types are checked."""
    return f"callsheet_{to_identifier(program)}"


def stub_files(catalog: Catalog, program: str) -> dict[str, str]:
    """Text by path: a package of stubs, and what makes it installable."""
    package = package_name(program)
    return {
        f"{package}-stubs/__init__.pyi": stubs(catalog, program),
        f"{package}-stubs/py.typed": "",
        "pyproject.toml": _PROJECT.format(program=program, project=program, version=__version__, package=package),
    }


def stubs(catalog: Catalog, program: str) -> str:
    """All types of a program in one module."""
    from .annotations import literal_annotation

    bodies = BodyTypes(catalog.all("schema"))
    methods = [
        operation_stub(id, operation, bodies) for id, operation in catalog.all("operation").items() if is_name(id)
    ]
    own = _OF_EVERY_PROGRAM.format(
        resources=literal_annotation(catalog.ids("resource")) if catalog.ids("resource") else "str"
    )
    groups = group_stubs(catalog, "", class_name(program), own, _TAKEN)
    every = "    def __getitem__(self, id: str) -> _Pages[...]: ...\n"
    operations = f"class Operations:\n{every}{''.join(methods)}\n"
    return f"{_HEAD.format(program=program)}{IMPORTS}{_RESULTS}{ALIASES}{_CALLS}{bodies.text()}\n{operations}\n{groups}"
