"""`callsheet stubs PROGRAM`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...catalog.catalog import open_catalog
from ...errors import UsageError
from ...language.programs import refuse_unknown
from ...openapi.definition_files import save_files
from .annotations import class_name
from .package import package_name, stub_files

if TYPE_CHECKING:
    from ...commands.context import Context, ParameterValues


def write_stubs(context: Context, values: ParameterValues) -> None:
    """Write the types of a program as a package, over one that was written before."""
    program = values["program"]
    refuse_unknown(program, context.environ)
    target = os.path.abspath(values["to"] or f"{program}-stubs")
    package = os.path.join(target, f"{package_name(program)}-stubs")
    if os.path.lexists(target) and not os.path.isdir(package) and not _is_empty(target):
        raise UsageError(f"{target} holds something else", hint="name another directory with --to")
    if context.only_tries(f"the types of {program} would be written to {target}"):
        return
    catalog = open_catalog(program, context.environ)
    try:
        files = stub_files(catalog, program)
    finally:
        catalog.close()
    save_files(files, target)
    context.streams.out.write(f"{program}: types written to {target}\n")
    name = class_name(program)
    context.note(f"next: pip install {target}; then `from {package_name(program)} import {name}` if TYPE_CHECKING")


def _is_empty(directory: str) -> bool:
    return os.path.isdir(directory) and not os.listdir(directory)
