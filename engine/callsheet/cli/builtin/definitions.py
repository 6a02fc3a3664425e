"""`definitions check|show|path|upgrade|schema`: looking at the language and at what is written in it."""

from __future__ import annotations

import os

from ...commands.context import Context, ParameterValues
from ...errors import UsageError, counted, did_you_mean
from ...language.layers import Layer, files_of


def check(context: Context, values: ParameterValues) -> None:
    """Check all definitions in use, with `path` laid over them when it is given."""
    from ...catalog.compile import qualified_names
    from ...language import check as checks
    from ...language.load import load_definitions
    from ...registry import registered_names

    found = list(context.layers)
    if values.get("path"):
        found.append(Layer(os.path.abspath(values["path"])))
    definitions = load_definitions(found)
    checks.check_definitions(definitions, {"operation": qualified_names(definitions)}, registered_names())
    for text in definitions.notes:
        context.note(f"{text}; `{context.program} definitions upgrade` changes the file")
    files = sum(len(files_of(layer)) for layer in found)
    context.streams.out.write(f"{counted(len(definitions), 'definition')} in {counted(files, 'file')}, no problems\n")


def show(context: Context, values: ParameterValues) -> None:
    """One definition as TOML to change and to keep, or as it is compiled in the format asked for.

    Without an id: the ids; without a kind: the kinds.
    """
    from ...language.definition import PARTS

    catalog = context.catalog
    kind, id = values.get("kind"), values.get("id")
    if kind is None:
        context.output().items([{"kind": name, "count": count} for name, count in catalog.kinds().items()])
        return
    if (within := next((within for within, part in PARTS.items() if part == kind), None)) is not None:
        raise UsageError(
            f"a {kind} is the table {within!r} of a resource", hint=f"definitions show resource {id or 'ID'}"
        )
    if kind not in catalog.kinds():
        raise UsageError(f"no definitions of kind {kind!r}{did_you_mean(kind, catalog.kinds())}")
    if id is None:
        context.output().items([{"id": each} for each in catalog.ids(kind)])
        return
    table = catalog.get(kind, id)
    if context.option("output"):
        context.output().one(table)
        return
    context.streams.out.write(_overlay(context, kind, catalog.canonical(kind, id)))


def _overlay(context: Context, kind: str, id: str) -> str:
    """A definition as all its files say it together: pasted into a file of one's own it changes nothing yet."""
    from ...language.load import load_definitions
    from ...language.source_file import EXTEND
    from ...openapi.layout import definition_file_text
    from ...paths import own_definitions

    definition = load_definitions(context.layers)[kind, id]
    files = dict.fromkeys(os.path.realpath(file.path) for file in definition.files)
    said = "".join(f"# {path}\n" for path in files)
    own = os.path.join(own_definitions(context.environ, context.program), "mine.toml")
    hint = f"# Said in these files. To change it, keep the lines that you change in a file such as {own}\n"
    return f"{said}{hint}\n{definition_file_text({kind: {id: definition.table}}, EXTEND)}"


def path(context: Context, values: ParameterValues) -> None:
    """The directories of definitions, and how many files each holds."""
    del values
    rows = []
    for layer in context.layers:
        present = os.path.isdir(layer.directory)
        rows.append({"directory": layer.directory, "files": len(files_of(layer)) if present else None})
    context.output().items(rows)


def upgrade(context: Context, values: ParameterValues) -> None:
    """Rewrite a person's files, or those at `path`, in the words of today, or show what would change."""
    from difflib import unified_diff

    from ...files import write_atomically
    from ...language.upgrade import upgrades

    found, wanted = list(context.layers), set[str]()
    if values.get("path"):
        layer = Layer(os.path.abspath(values["path"]))
        wanted = {path for path, _ in files_of(layer)}
        known = {path for each in found for path, _ in files_of(each)}
        if not wanted:
            raise UsageError(f"no definition files at {values['path']}")
        if wanted.isdisjoint(known):
            found.append(layer)
    changed = [each for each in list(upgrades(found, wanted)) if each.before != each.after]
    for each in changed:
        if values["diff"] or context.option("dry-run"):
            lines = each.before.splitlines(keepends=True), each.after.splitlines(keepends=True)
            context.streams.out.writelines(unified_diff(*lines, each.path, each.path))
        else:
            write_atomically(each.path, each.written, os.stat(each.path).st_mode & 0o777)
            context.streams.out.write(f"{each.path}: {counted(each.changes, 'change')}\n")
    if not changed:
        context.note("every file is up to date")


def schema(context: Context, values: ParameterValues) -> None:
    """The JSON Schema of a definition file; editors complete and validate with it."""
    del values
    from ...jsontext import dump_json
    from ...language.json_schema import json_schema

    context.streams.out.write(dump_json(json_schema(), indent=2) + "\n")
