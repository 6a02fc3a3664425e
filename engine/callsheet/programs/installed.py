"""The programs that there are, and the files of those that belong to a person."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..errors import CallsheetError, UsageError, did_you_mean
from ..files import make_private_directory
from ..language.programs import program_names, program_table
from ..openapi.definition_files import save_files
from ..paths import cache_directory, config_directory, own_definitions, settings_directory, shipped_definitions
from .launcher import find_launcher
from .share import FileChanges, Manifest, manifest_of, write_manifest

OWN, BUILT_IN = "own", "built in"


class Installed(NamedTuple):
    program: str
    title: str
    kind: str
    launcher: str | None


def is_shipped(program: str) -> bool:
    return program in program_names({}, own=False)


def installed_programs(environ: Mapping[str, str]) -> Iterator[Installed]:
    """Every program that can be called. What only changes a built-in one is not a program."""
    for name in program_names(environ):
        table = program_table(name, environ)
        if table.get("hidden") is not True and (table or not is_shipped(name)):
            kind = BUILT_IN if is_shipped(name) else OWN
            yield Installed(name, str(table.get("title", "")), kind, find_launcher(name, environ))


def own_directory(program: str, environ: Mapping[str, str]) -> str:
    """Where the definitions of a person's own program are; raises `UsageError` where there is no such program."""
    own = [each.program for each in installed_programs(environ) if each.kind == OWN]
    if is_shipped(program):
        raise UsageError(f"{program} is built in; this works with programs of your own only")
    if program not in own:
        known = f" (there are: {', '.join(own)})" if own else ""
        raise UsageError(f"no program {program!r} of your own{did_you_mean(program, own)}{known}")
    return own_definitions(environ, program)


def refuse_existing(program: str, environ: Mapping[str, str]) -> None:
    shipped, _ = shipped_definitions()
    if os.path.isdir(os.path.join(shipped, program)):
        raise UsageError(f"{program!r} is the name of a built-in program", hint="choose another name")
    if os.path.lexists(own_definitions(environ, program)):
        hint = f"remove it first: {{program}} remove {program}"
        raise UsageError(f"program {program!r} already exists", hint=hint)


def install_program(program: str, files: Mapping[str, str], manifest: Manifest, environ: Mapping[str, str]) -> str:
    """Write the definitions of a new program; all of them are there, or none. Returns the directory."""
    directory = own_definitions(environ, program)
    parent = os.path.dirname(directory)
    make_private_directory(parent)
    fresh = os.path.join(parent, f".{program}.{os.getpid()}")
    try:
        save_files(files, fresh)
        write_manifest(fresh, manifest_of(files, manifest))
        os.rename(fresh, directory)
    except OSError as error:
        raise CallsheetError(f"{error.filename or directory}: {error.strerror}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return directory


def renew_installed_program(directory: str, files: Mapping[str, str], changes: FileChanges, manifest: Manifest) -> None:
    """Write the new version of a program: `files` are all of it, `changes` what it does to the directory.

    The manifest is written last: where that is not reached, the next update does it all again.
    """
    try:
        save_files(changes.write, directory)
        for path in changes.remove:
            os.remove(os.path.join(directory, *path.split("/")))
        write_manifest(directory, manifest_of(files, manifest))
    except OSError as error:
        raise CallsheetError(f"{error.filename or directory}: {error.strerror}") from None


def remove_program_files(program: str, environ: Mapping[str, str]) -> list[str]:
    """Delete definitions, settings and what was compiled; returns the directories that are gone."""
    gone = []
    for directory in (own_definitions(environ, program), settings_directory(environ, program)):
        if os.path.islink(directory):
            os.remove(directory)  # what it leads to is somebody else's
        elif os.path.isdir(directory):
            try:
                shutil.rmtree(directory)
            except OSError as error:
                raise CallsheetError(f"{error.filename}: {error.strerror}") from None
        else:
            continue
        gone.append(directory)
    for path in glob.glob(os.path.join(glob.escape(cache_directory(environ)), f"{program}-????????.sqlite")):
        with contextlib.suppress(OSError):
            os.remove(path)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.join(config_directory(environ), "programs"))
    return gone
