"""`callsheet share|install`: a program as a directory that others can install."""

from __future__ import annotations

import os
import tempfile

from ...commands.context import Context, ParameterValues
from ...errors import DefinitionError, UsageError, counted
from ...language.definition import Definitions
from ...language.layers import Layer
from ...language.load import load
from ...programs.create import save
from ...programs.installed import own_directory, put, refuse_existing
from ...programs.launcher import check_launcher, launcher_directory, write_launcher
from ...programs.share import README, Abilities, Shared, abilities_of, read_shared, readme, together
from ...terminal import escape_line
from .programs import layers_below, say_launcher, sound

_SHOWN = 12


def share(context: Context, values: ParameterValues) -> None:
    """Write the definitions of one's own program into a new directory, once they are found to be sound."""
    program = values["program"]
    directory = own_directory(program, context.environ)
    sound(context, program)
    shared = read_shared(directory)
    target = os.path.abspath(values["to"] or program)
    if os.path.lexists(target) and not (os.path.isdir(target) and not os.listdir(target)):
        raise UsageError(f"{target} already exists", hint="name another directory with --to")
    definitions, below = _checked(context, shared)
    commands = _commands(definitions, below)
    files = {**shared.files, README: readme(program, str(shared.table.get("title", program)), commands)}
    _show(context, abilities_of(together(shared.files), definitions, below))
    if context.option("dry-run"):
        context.streams.out.write(f"{program}: {counted(len(files), 'file')} would be written to {target}\n")
        return
    save(files, target)
    context.streams.out.write(f"{program}: {counted(len(files), 'file')} written to {target}\n")
    context.note("others install it with `callsheet install DIRECTORY`; read it through for what only you should know")


def install(context: Context, values: ParameterValues) -> None:
    """Show what a program could do, ask, and install exactly what was shown."""
    shared = read_shared(os.path.abspath(values["directory"]))
    program = shared.program
    refuse_existing(program, context.environ)
    directory = launcher_directory(context.environ, values["bin"])
    check_launcher(program, directory)
    definitions, below = _checked(context, shared)
    title = escape_line(str(shared.table.get("title", "")))
    context.note(f"{program}: {title}; {len(shared.files)} files, {len(_commands(definitions, below))} commands")
    _show(context, abilities_of(together(shared.files), definitions, below))
    context.confirm(f"Install {program}?")
    if context.only_tries(f"{program} would be installed"):
        return
    where = put(program, shared.files, context.environ)
    context.streams.out.write(f"{program}: installed in {where}\n")
    say_launcher(context, program, write_launcher(program, directory, context.environ))


def _checked(context: Context, shared: Shared) -> tuple[Definitions, Definitions]:
    """All its definitions, and those of the programs that it uses; raises `DefinitionError`."""
    from ...catalog.compile import qualified_names
    from ...language import check as checks
    from ...registry import names

    uses = [str(name) for name in shared.table.get("uses", ())]
    layers = layers_below(context, uses)
    with tempfile.TemporaryDirectory() as directory:
        save(shared.files, directory)
        try:
            definitions = load([*layers, Layer(directory)])
            checks.check(definitions, {"operation": qualified_names(definitions)}, names())
        except DefinitionError as error:  # about the copy that was checked: a person has the other one
            details = [detail.replace(directory, shared.directory) for detail in error.details]
            raise DefinitionError(error.message, details=details) from None
    return definitions, load(layers)


def _commands(definitions: Definitions, below: Definitions) -> list[tuple[str, str]]:
    """The words and the help of the commands that the program itself brings."""
    own = [each for key, each in definitions.items() if key[0] == "command" and key not in below]
    return [(each.id, str(each.table["help"])) for each in own if not each.table.get("hidden")]


def _show(context: Context, abilities: Abilities) -> None:
    """What definitions could do, in lines that cannot pretend to be anything else."""
    said = (
        ("it sends requests to", abilities.hosts),
        ("it runs, for events that it receives", abilities.handlers),
        ("it changes what every program has", abilities.changes),
        ("it removes things, when told to, with", abilities.destroys),
    )
    for what, items in said:
        shown = [escape_line(item) for item in items]
        if what.startswith("it runs"):
            for item in shown:
                context.say(f"warning: {what}: {item}")
        elif shown:
            more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            context.say(f"note: {what}: {', '.join(shown[:_SHOWN])}{more}")
