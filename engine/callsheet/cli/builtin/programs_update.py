"""`callsheet update`: a new version of a program over what a person has changed."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...catalog.compile import qualified_names
from ...commands.context import Context, ParameterValues
from ...errors import UsageError, counted
from ...language.load import load_definitions
from ...language.programs import definition_layers, program_table
from ...openapi.definition_files import directory_of
from ...programs.create import ProgramSource, renewed
from ...programs.difference import program_difference
from ...programs.installed import own_directory, renew_installed_program
from ...programs.manifest import Manifest, changed_commands, changes_of_files, read_manifest, with_present
from ...programs.share import read_shared
from .document_file import document_text, path_of_document, say_changes
from .programs import layers_below, try_program
from .programs_share import checked_definitions, show_difference


def update(context: Context, values: ParameterValues) -> None:
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
    from ...openapi.earlier import read_earlier
    from ...urls import base_url

    directory = own_directory(program, context.environ)
    before = with_present(directory, read_manifest(directory), directory_of(program))
    address = base_url(address, "--base-url") if address else before.base_url
    name = "standard input" if spec == "-" else spec
    source = ProgramSource(document_text(context, spec), name, address, title or before.title, path_of_document(spec))
    uses = [str(name) for name in program_table(program, context.environ).get("uses", ())]
    earlier = read_earlier(directory, program)
    new, found = renewed(program, source, uses, layers_below(context, uses), directory, before, earlier)
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
    context.streams.out.write(f"{program}: updated, {counted(count, 'file')} of {directory} changed\n")


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
