"""`callsheet new|list|run|check|remove|link`: programs made of definitions, on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from click.exceptions import Exit

from ... import registry
from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, DefinitionError, UsageError, counted
from ...language.layers import Layer
from ...paths import own_definitions
from ...programs.create import Made, ProgramSource, create, create_empty
from ...programs.installed import install_program, installed_programs, own_directory, refuse_existing
from ...programs.installed import remove_program_files as remove_files
from ...programs.launcher import (
    BIN,
    another_program,
    check_launcher,
    find_launchers,
    launcher_directory,
    launcher_path,
    look_up,
    remove_launchers,
    write_launcher,
)
from ...programs.manifest import (
    Manifest,
    read_manifest,
    remember_launcher,
)
from ...programs.program_names import check_name


def new(context: Context, values: ParameterValues) -> None:
    """Make a program out of a document, or an empty one, and a launcher for it."""
    from ...urls import base_url

    program = values["program"]
    check_name(program)
    refuse_existing(program, context.environ)
    directory = launcher_directory(context.environ, values["bin"])
    if not values["no-launcher"]:
        check_launcher(program, directory)
        ask_about_name(context, program)
    address = base_url(values["base-url"], "--base-url") if values["base-url"] else None
    made = _made(context, values, program, address)
    for note in made.notes:
        context.note(note)
    counts = [(made.commands, "command"), (made.operations, "operation"), (len(made.files), "file")]
    found = "{} for {}, in {}".format(*(counted(number, noun) for number, noun in counts))
    if context.option("dry-run"):
        context.streams.out.write(f"{program}: {found}, would be made\n")
        return
    source = os.path.abspath(values["from"]) if values["from"] not in (None, "-") else ""
    where = install_program(program, made.files, Manifest({}, source, address, values["title"]), context.environ)
    try:
        try_program(program, context.environ)
    except BaseException:
        remove_files(program, context.environ)
        raise
    context.streams.out.write(f"{program}: {found} of {where}\n")
    if not values["no-launcher"]:
        start_with_launcher(context, program, directory)
    if values["stubs"]:
        registry.resolve_entry(registry.BUILTINS["programs stubs"])(context, {"program": program, "to": None})
    _say_next(context, program, made)


def _made(context: Context, values: ParameterValues, program: str, address: str | None) -> Made:
    from .document_file import document_text, path_of_document

    uses = [*dict.fromkeys(values["uses"])]
    layers = layers_below(context, uses)
    if values["from"] is None:
        for name in ("base-url",):
            if values[name]:
                raise UsageError(f"--{name} needs --from")
        return create_empty(program, values["title"] or program, uses, layers)
    name = "standard input" if values["from"] == "-" else values["from"]
    text = document_text(context, values["from"])
    return create(
        program, ProgramSource(text, name, address, values["title"], path_of_document(values["from"])), uses, layers
    )


def try_program(program: str, environ: Mapping[str, str]) -> None:
    """Start it, and make the help of all its commands, as nothing is made that does not start."""
    from ..main import make_all_help

    make_all_help(program, environ)


def layers_below(context: Context, uses: Sequence[str]) -> list[Layer]:
    """The definitions of the programs that a new one uses; raises `UsageError` for one that does not exist."""
    from ...language.layers import layers_with
    from ...language.programs import refuse_unknown, used_by

    found: list[str] = []
    for name in uses:
        refuse_unknown(name, context.environ, to_use=True)
        found += [each for each in (*used_by(name, context.environ), name) if each not in found]
    return layers_with(" ", found, context.environ)


def ask_about_name(context: Context, program: str) -> None:
    """Whether a program may get the name of another one, which it would hide or be hidden by."""
    other = another_program(program, context.environ)
    if other is not None and not context.option("dry-run"):
        context.confirm(f"{program!r} starts {other} now. Make another program of this name?")


def start_with_launcher(context: Context, program: str, directory: str) -> None:
    """Write a launcher, and say what it takes to be found."""
    launcher = write_launcher(program, directory, context.environ)
    own = own_definitions(context.environ, program)
    if os.path.isdir(own):
        remember_launcher(own, launcher.path)
    context.note(f"{launcher.path} starts it")
    if launcher.hidden_by:
        context.note(f"another {program!r} comes first on your PATH: {launcher.hidden_by}")
    if not launcher.on_path:
        directory = launcher.path.rpartition("\\" if "\\" in launcher.path else "/")[0]
        context.note(f"{directory} is not on your PATH: add it, or choose a directory with --bin or {BIN}")


def _say_next(context: Context, program: str, made: Made) -> None:
    if made.operations:
        context.note(f"next: {program} init asks for address and credential; {program} --help lists the commands")
        context.note(f'completion: eval "$({program} completion bash)", or zsh; fish has a file of its own')
    else:
        context.note(f"next: put definitions into its directory; {program} --help lists the commands")


def list_programs(context: Context, values: ParameterValues) -> None:
    del values
    rows = [each._asdict() for each in installed_programs(context.environ)]
    context.output(context.catalog.get("view", "program")).items(rows)


def run_program(context: Context, values: ParameterValues) -> None:
    """What a launcher does. The program's exit code is that of this one."""
    from ..main import run

    _known(context, values["program"])
    streams = context.streams
    code = run(
        values["program"],
        values["words"],
        environ=context.environ,
        stdin=streams.input,
        stdout=streams.out,
        stderr=streams.err,
    )
    if code:
        raise Exit(code)


def _known(context: Context, program: str) -> None:
    from ...language.programs import refuse_unknown

    refuse_unknown(program, context.environ)


def check(context: Context, values: ParameterValues) -> None:
    """One program, or all of a person's own; every one is looked at, whatever is wrong with the others."""
    own = [each.program for each in installed_programs(context.environ) if each.kind == "own"]
    wanted = [values["program"]] if values["program"] else own
    if not wanted:
        context.note("no programs of your own; `callsheet new` makes one")
    problems: list[str] = []
    for program in wanted:
        _known(context, program)
        try:
            context.streams.out.write(f"{program}: {counted(sound(context, program), 'definition')}, no problems\n")
        except DefinitionError as error:
            problems += error.details or [f"{program}: {error.message}"]
    if problems:
        raise DefinitionError(f"{counted(len(problems), 'problem')} in definitions", details=problems)


def sound(context: Context, program: str) -> int:
    """How many definitions a program has; raises `DefinitionError` with each problem."""
    from ...catalog.compile import qualified_names
    from ...language import check as checks
    from ...language.load import load_definitions
    from ...language.programs import definition_layers
    from ...registry import registered_names

    definitions = load_definitions(definition_layers(program, context.environ))
    checks.check_definitions(definitions, {"operation": qualified_names(definitions)}, registered_names())
    return len(definitions)


def remove(context: Context, values: ParameterValues) -> None:
    """Definitions, launcher, sites and credentials of a person's own program."""
    program = values["program"]
    directory = own_directory(program, context.environ)
    launchers = find_launchers(program, context.environ, read_manifest(directory).launchers)
    files = ", ".join([directory, *launchers])
    context.confirm(f"Remove {program} ({files}), its sites and their credentials?")
    if context.only_tries(f"{program} would be removed: {files}"):
        return
    _forget_sites(context, program)
    remove_launchers(launchers)
    for path in (*launchers, *remove_files(program, context.environ)):
        context.note(f"removed {path}")


def _forget_sites(context: Context, program: str) -> None:
    """Delete what key stores hold for the program, which no directory shows."""
    from .config import delete_credentials, read_profiles_here

    theirs = Context(program, context.environ, context.streams)
    try:
        for name, settings in read_profiles_here(theirs).get("sites", {}).items():
            for problem in delete_credentials(theirs, name, settings):
                context.note(problem)
    except CallsheetError as error:
        context.note(f"its credentials, if it has any, are not deleted from the key store: {error.message}")
    finally:
        theirs.close()


def link(context: Context, values: ParameterValues) -> None:
    """A launcher for a program that has none any more, or in another directory."""
    program = values["program"]
    _known(context, program)
    directory = launcher_directory(context.environ, values["bin"])
    if context.option("dry-run"):
        check_launcher(program, directory)
        context.streams.out.write(f"{launcher_path(program, directory)} would start {program}\n")
        return
    start_with_launcher(context, program, directory)


__all__ = ["check", "link", "list_programs", "look_up", "new", "remove", "run_program"]
