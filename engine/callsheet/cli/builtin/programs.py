"""OpenAPI documents as files that a person names, and what a new one of them changes."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from ... import registry
from ...catalog.compile import qualified_names
from ...collector import without_collector
from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, DefinitionError, UsageError, count_of
from ...language.layers import Layer, layers_with
from ...language.load import definition_layers, load_definitions, program_table, refuse_unknown, used_by
from ...language.source_file import Definitions
from ...openapi import ImportResult
from ...openapi.definition_files import directory_of, read_earlier, save_files
from ...openapi.sound import SoundImport
from ...paths import own_definitions_folder
from ...programs.create import (
    Made,
    ProgramDifference,
    ProgramSource,
    create_empty,
    create_program,
    program_difference,
    recreate_program,
)
from ...programs.installed import (
    BIN,
    README,
    Manifest,
    Shared,
    another_program,
    changed_commands,
    changes_of_files,
    check_launcher,
    find_launchers,
    install_program,
    installed_programs,
    launcher_directory,
    launcher_path,
    own_directory,
    read_manifest,
    read_shared,
    readme_text,
    refuse_existing,
    remember_launcher,
    remove_launchers,
    renew_installed_program,
    with_present,
    write_launcher,
)
from ...programs.installed import remove_program_files as remove_files
from ...programs.naming import check_name
from ...reach import Reach
from ...registry import registered_names
from ...terminal import escape_line
from ...urls import base_url


def path_of_document(spec: str) -> str | None:
    """Where the document is; None on standard input, which has no files beside it."""
    return None if spec == "-" else spec


def document_text(context: Context, spec: str) -> str:
    if re.match(r"https?://", spec):
        raise UsageError(f"{spec}: expected a file or -", hint="download the document first")
    raw = context.read_source("-" if spec == "-" else f"@{spec}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{spec}: not UTF-8: byte {error.start}") from None


def say_changes(context: Context, found: SoundImport) -> None:
    """What is left out, and what is different from the import before."""
    for note in found.result.notes:
        context.note(note)
    for text in found.left_out:
        context.say(f"warning: left out: {text}")
    for line in _import_changes(found.result):
        context.streams.out.write(f"{line}\n")


def _import_changes(result: ImportResult) -> Iterator[str]:
    """What is different from the import before: a line each operation."""
    found, before = result.difference_to_earlier, result.earlier.operations
    http = {id: table["http"] for id, table in {**before, **result.operations}.items()}
    yield from (f"+ {id}  {http[id]}" for id in found.added)
    yield from (f"- {id}  {http[id]}" for id in found.gone)
    yield from (f"> {id} is now {now}  {http[now]}" for id, now in found.renamed.items())
    yield from (f"~ {id}  {text}" for id, text in found.changed.items())


# `callsheet new|list|run|check|remove|link`: programs made of definitions, on this machine.


@without_collector()
def new_program(context: Context, values: ParameterValues) -> None:
    """Make a program out of a document, or an empty one, and a launcher for it."""
    program = values["program"]
    check_name(program)
    refuse_existing(program, context.environ)
    directory = launcher_directory(context.environ, values["bin"])
    if not values["no-launcher"]:
        check_launcher(program, directory)
        ask_about_name(context, program)
    address = base_url(values["base-url"], "--base-url") if values["base-url"] else None
    made = _make_program(context, values, program, address)
    for note in made.notes:
        context.note(note)
    counts = [(made.commands, "command"), (made.operations, "operation"), (len(made.files), "file")]
    found = "{} for {}, in {}".format(*(count_of(number, noun) for number, noun in counts))
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


def _make_program(context: Context, values: ParameterValues, program: str, address: str | None) -> Made:

    uses = [*dict.fromkeys(values["uses"])]
    layers = layers_below(context, uses)
    if values["from"] is None:
        for name in ("base-url",):
            if values[name]:
                raise UsageError(f"--{name} needs --from")
        return create_empty(program, values["title"] or program, uses, layers)
    name = "standard input" if values["from"] == "-" else values["from"]
    text = document_text(context, values["from"])
    return create_program(
        program, ProgramSource(text, name, address, values["title"], path_of_document(values["from"])), uses, layers
    )


def try_program(program: str, environ: Mapping[str, str]) -> None:
    """Start it, and make the help of all its commands, as nothing is made that does not start."""
    from ..main import make_all_help

    make_all_help(program, environ)


def layers_below(context: Context, uses: Sequence[str]) -> list[Layer]:
    """The definitions of the programs that a new one uses; raises `UsageError` for one that does not exist."""
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
    own = own_definitions_folder(context.environ, program)
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


def list_programs(context: Context, _values: ParameterValues) -> None:
    rows = [each._asdict() for each in installed_programs(context.environ)]
    context.output(context.catalog.views.get("program")).print_items(rows)


def run_program(context: Context, values: ParameterValues) -> int:
    """What a launcher does. The program's exit code is that of this one."""
    from ..main import run

    _check_known(context, values["program"])
    streams = context.streams
    return run(
        values["program"],
        values["words"],
        environ=context.environ,
        stdin=streams.input,
        stdout=streams.out,
        stderr=streams.err,
    )


def _check_known(context: Context, program: str) -> None:

    refuse_unknown(program, context.environ)


@without_collector()
def check_programs(context: Context, values: ParameterValues) -> None:
    """One program, or all of a person's own; every one is looked at, whatever is wrong with the others."""
    own = [each.program for each in installed_programs(context.environ) if each.kind == "own"]
    wanted = [values["program"]] if values["program"] else own
    if not wanted:
        context.note("no programs of your own; `callsheet new` makes one")
    problems: list[str] = []
    for program in wanted:
        _check_known(context, program)
        try:
            context.streams.out.write(
                f"{program}: {count_of(count_definitions(context, program), 'definition')}, no problems\n"
            )
        except DefinitionError as error:
            problems += error.details or [f"{program}: {error.message}"]
    if problems:
        raise DefinitionError(f"{count_of(len(problems), 'problem')} in definitions", details=problems)


def count_definitions(context: Context, program: str) -> int:
    """How many definitions a program has; raises `DefinitionError` with each problem."""
    from ...language import check as checks

    definitions = load_definitions(definition_layers(program, context.environ))
    checks.check_definitions(definitions, {"operation": qualified_names(definitions)}, registered_names())
    return len(definitions)


def remove_program(context: Context, values: ParameterValues) -> None:
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
    from .auth import delete_credentials, read_profiles_here

    theirs = Context(program, context.environ, context.streams)
    try:
        for name, settings in read_profiles_here(theirs).get("sites", {}).items():
            for problem in delete_credentials(theirs, name, settings):
                context.note(problem)
    except CallsheetError as error:
        context.note(f"its credentials, if it has any, are not deleted from the key store: {error.message}")
    finally:
        theirs.close()


def link_program(context: Context, values: ParameterValues) -> None:
    """A launcher for a program that has none any more, or in another directory."""
    program = values["program"]
    _check_known(context, program)
    directory = launcher_directory(context.environ, values["bin"])
    if context.option("dry-run"):
        check_launcher(program, directory)
        context.streams.out.write(f"{launcher_path(program, directory)} would start {program}\n")
        return
    start_with_launcher(context, program, directory)


# `callsheet share|install`: a program as a directory that others can install.


def share_program(context: Context, values: ParameterValues) -> None:
    """Write the definitions of one's own program into a new directory, once they are found to be sound."""
    program = values["program"]
    directory = own_directory(program, context.environ)
    count_definitions(context, program)
    shared = read_shared(directory)
    target = os.path.abspath(values["to"] or program)
    if os.path.lexists(target) and not (os.path.isdir(target) and not os.listdir(target)):
        raise UsageError(f"{target} already exists", hint="name another directory with --to")
    definitions, below = checked_definitions(context, shared)
    commands = _own_commands(definitions, below)
    files = {**shared.files, README: readme_text(program, str(shared.table.get("title", program)), commands)}
    show_difference(context, program_difference(definitions, below, qualified_names(definitions)))
    if context.option("dry-run"):
        context.streams.out.write(f"{program}: {count_of(len(files), 'file')} would be written to {target}\n")
        return
    save_files(files, target)
    context.streams.out.write(f"{program}: {count_of(len(files), 'file')} written to {target}\n")
    context.note("others install it with `callsheet install DIRECTORY`; read it through for what only you should know")


@without_collector()
def install_shared_program(context: Context, values: ParameterValues) -> None:
    """Show what a program could do, ask, and install exactly what was shown."""
    shared = read_shared(os.path.abspath(values["directory"]))
    program = shared.program
    refuse_existing(program, context.environ)
    directory = launcher_directory(context.environ, values["bin"])
    check_launcher(program, directory)
    ask_about_name(context, program)
    definitions, below = checked_definitions(context, shared)
    title = escape_line(str(shared.table.get("title", "")))
    context.note(f"{program}: {title}; {len(shared.files)} files, {len(_own_commands(definitions, below))} commands")
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


def _own_commands(definitions: Definitions, below: Definitions) -> list[tuple[str, str]]:
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


# `callsheet update`: a new version of a program over what a person has changed.


@without_collector()
def update_program(context: Context, values: ParameterValues) -> None:
    """A new version of a program, out of a document or of a directory that somebody shared."""
    program = values["program"]
    manifest = read_manifest(own_directory(program, context.environ))
    source = values["from"] or manifest.source
    if not source:
        raise UsageError(
            f"it is not known what {program} was made of", hint="name the document or directory with --from"
        )
    if not manifest.files:
        hint = f"{program} definitions import FILE --product {program} updates its operations"
        raise UsageError(f"which files of {program} you have changed is not known: it is older than updates", hint=hint)
    if os.path.isdir(source):
        update_from_directory(context, program, source, manifest)
    else:
        update_from_document(context, program, source, values["base-url"], values["title"])


def update_from_document(context: Context, program: str, spec: str, address: str | None, title: str | None) -> None:
    """What a person has changed stays; nothing is written unless the whole program is sound."""
    directory = own_directory(program, context.environ)
    before = with_present(directory, read_manifest(directory), directory_of(program))
    address = base_url(address, "--base-url") if address else before.base_url
    name = "standard input" if spec == "-" else spec
    source = ProgramSource(document_text(context, spec), name, address, title or before.title, path_of_document(spec))
    uses = [str(name) for name in program_table(program, context.environ).get("uses", ())]
    earlier = read_earlier(directory, program)
    new, found = recreate_program(program, source, uses, layers_below(context, uses), directory, before, earlier)
    say_changes(context, found)
    came_from = before.source if spec == "-" else os.path.abspath(spec)
    manifest = before._replace(source=came_from, base_url=address, title=source.title)
    renew_program(context, program, new.files, before, manifest, ask=False)


def renew_program(
    context: Context, program: str, files: Mapping[str, str], before: Manifest, manifest: Manifest, *, ask: bool
) -> None:
    """Say what becomes of commands and of files that a person has changed, and write the new version."""
    directory = own_directory(program, context.environ)
    changes = changes_of_files(directory, before, files)
    for line in changed_commands(directory, before, files, changes):
        context.streams.out.write(f"{line}\n")
    for path in changes.kept:
        context.note(f"{path} stays as it is: you have changed it, and the new version has it otherwise")
    if ask:
        context.confirm(f"Update {program}?")
    if context.only_tries(f"{program} would be updated"):
        return
    renew_installed_program(directory, files, changes, manifest)
    try_program(program, context.environ)
    count = len(changes.write) + len(changes.remove)
    context.streams.out.write(f"{program}: updated, {count_of(count, 'file')} of {directory} changed\n")


def update_from_directory(context: Context, program: str, source: str, before: Manifest) -> None:
    """Show what the new version could do that the program cannot do now, ask, and install exactly what was shown."""
    shared = read_shared(os.path.abspath(source))
    if shared.program != program:
        raise UsageError(f"{source} holds the program {shared.program!r}, not {program!r}")
    directory = own_directory(program, context.environ)
    changes = changes_of_files(directory, before, shared.files)
    present = {path: text for path, text in read_shared(directory).files.items() if path not in changes.remove}
    below = load_definitions(definition_layers(program, context.environ))
    definitions, _ = checked_definitions(context, shared._replace(files={**present, **changes.write}))
    show_difference(context, program_difference(definitions, below, qualified_names(definitions)))
    renew_program(context, program, shared.files, before, before._replace(source=shared.directory), ask=True)
