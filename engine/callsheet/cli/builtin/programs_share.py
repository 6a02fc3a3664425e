"""`callsheet share|install`: a program as a directory that others can install."""

from __future__ import annotations

import os
import tempfile

from ...catalog.compile import qualified_names
from ...commands.context import Context, ParameterValues
from ...errors import DefinitionError, UsageError, counted
from ...language.definition import Definitions
from ...language.layers import Layer
from ...language.load import load_definitions
from ...openapi.definition_files import save_files
from ...programs.difference import ProgramDifference, program_difference
from ...programs.installed import install_program, own_directory, refuse_existing
from ...programs.launcher import check_launcher, launcher_directory
from ...programs.manifest import Manifest
from ...programs.share import README, Shared, read_shared, readme
from ...reach import Reach
from ...terminal import escape_line
from .programs import ask_about_name, layers_below, sound, start_with_launcher, try_program


def share(context: Context, values: ParameterValues) -> None:
    """Write the definitions of one's own program into a new directory, once they are found to be sound."""
    program = values["program"]
    directory = own_directory(program, context.environ)
    sound(context, program)
    shared = read_shared(directory)
    target = os.path.abspath(values["to"] or program)
    if os.path.lexists(target) and not (os.path.isdir(target) and not os.listdir(target)):
        raise UsageError(f"{target} already exists", hint="name another directory with --to")
    definitions, below = checked_definitions(context, shared)
    commands = _commands(definitions, below)
    files = {**shared.files, README: readme(program, str(shared.table.get("title", program)), commands)}
    show_difference(context, program_difference(definitions, below, qualified_names(definitions)))
    if context.option("dry-run"):
        context.streams.out.write(f"{program}: {counted(len(files), 'file')} would be written to {target}\n")
        return
    save_files(files, target)
    context.streams.out.write(f"{program}: {counted(len(files), 'file')} written to {target}\n")
    context.note("others install it with `callsheet install DIRECTORY`; read it through for what only you should know")


def install(context: Context, values: ParameterValues) -> None:
    """Show what a program could do, ask, and install exactly what was shown."""
    shared = read_shared(os.path.abspath(values["directory"]))
    program = shared.program
    refuse_existing(program, context.environ)
    directory = launcher_directory(context.environ, values["bin"])
    check_launcher(program, directory)
    ask_about_name(context, program)
    definitions, below = checked_definitions(context, shared)
    title = escape_line(str(shared.table.get("title", "")))
    context.note(f"{program}: {title}; {len(shared.files)} files, {len(_commands(definitions, below))} commands")
    show_difference(context, program_difference(definitions, below, qualified_names(definitions)))
    context.confirm(f"Install {program}?")
    if context.only_tries(f"{program} would be installed"):
        return
    where = install_program(program, shared.files, Manifest({}, shared.directory), context.environ)
    try_program(program, context.environ)
    context.streams.out.write(f"{program}: installed in {where}\n")
    start_with_launcher(context, program, directory)


def checked_definitions(context: Context, shared: Shared) -> tuple[Definitions, Definitions]:
    """All its definitions, and those of the programs that it uses; raises `DefinitionError`."""
    from ...language import check as checks
    from ...registry import registered_names

    uses = [str(name) for name in shared.table.get("uses", ())]
    layers = layers_below(context, uses)
    with tempfile.TemporaryDirectory() as directory:
        save_files(shared.files, directory)
        try:
            definitions = load_definitions([*layers, Layer(directory)])
            checks.check_definitions(definitions, {"operation": qualified_names(definitions)}, registered_names())
        except DefinitionError as error:  # about the copy that was checked: a person has the other one
            details = [detail.replace(directory, shared.directory) for detail in error.details]
            raise DefinitionError(error.message, details=details) from None
    return definitions, load_definitions(layers)


def _commands(definitions: Definitions, below: Definitions) -> list[tuple[str, str]]:
    """The words and the help of the commands that the program itself brings."""
    own = [each for key, each in definitions.items() if key[0] == "command" and key not in below]
    return [(each.id, str(each.table["help"])) for each in own if not each.table.get("hidden")]


_SAID: dict[Reach, str] = {
    "runs": "it runs",
    "reads": "it reads the file",
    "writes": "it writes files",
    "listens": "it listens",
    "credentials": "it uses the credential",
    "sets": "it sets",
    "offers": "it offers agents",
}


def show_difference(context: Context, found: ProgramDifference) -> None:
    """What definitions could do, in lines that cannot pretend to be anything else. None is left out for its length."""
    for kind, what in _SAID.items():
        for text in sorted(each.text for each in found.reached if each.kind == kind):
            context.say(f"{'warning' if kind == 'runs' else 'note'}: {what}: {escape_line(text)}")
    hosts = sorted(each.text for each in found.reached if each.kind == "connects")
    lists = (
        ("it sends requests to", hosts),
        ("it changes what is there without it", found.changed),
        ("it takes away", found.gone),
        ("it removes things, when told to, with", found.destroys),
    )
    for what, items in lists:
        if items:
            context.say(f"note: {what}: {', '.join(map(escape_line, items))}")
