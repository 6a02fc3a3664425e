"""`definitions check|show|path|schema`: looking at the language and at what is written in it."""

from __future__ import annotations

import os
from typing import Any

from ...commands.context import Context
from ...errors import UsageError, did_you_mean
from ...language.layers import Layer, files_of


def check(context: Context, values: dict[str, Any]) -> None:
    """Check all definitions in use, with `path` laid over them when it is given."""
    from ...catalog.compile import qualified_names
    from ...language import check as checks
    from ...language.load import load
    from ...registry import names

    found = list(context.layers)
    if values.get("path"):
        found.append(Layer(os.path.abspath(values["path"])))
    definitions = load(found)
    checks.check(definitions, {"operation": qualified_names(definitions)}, names())
    for text in definitions.notes:
        context.note(f"{text}; `{context.program} definitions upgrade` changes the file")
    files = sum(len(files_of(layer)) for layer in found)
    context.streams.out.write(f"{len(definitions)} definitions in {files} files, no problems\n")


def show(context: Context, values: dict[str, Any]) -> None:
    """One definition as TOML, or in the format asked for. Without an id: the ids; without a kind: the kinds."""
    catalog = context.catalog
    kind, id = values.get("kind"), values.get("id")
    if kind is None:
        context.output().items([{"kind": name, "count": count} for name, count in catalog.kinds().items()])
        return
    if kind not in catalog.kinds():
        raise UsageError(f"no definitions of kind {kind!r}{did_you_mean(kind, catalog.kinds())}")
    if id is None:
        context.output().items([{"id": each} for each in catalog.ids(kind)])
        return
    table = catalog.get(kind, id)
    if context.option("output"):
        context.output().one(table)
        return
    import tomlkit

    context.streams.out.write(tomlkit.dumps({kind: {catalog.canonical(kind, id): table}}))


def path(context: Context, values: dict[str, Any]) -> None:
    """The directories of definitions, and how many files each holds."""
    del values
    rows = []
    for layer in context.layers:
        present = os.path.isdir(layer.directory)
        rows.append({"directory": layer.directory, "files": len(files_of(layer)) if present else None})
    context.output().items(rows)


def schema(context: Context, values: dict[str, Any]) -> None:
    """The JSON Schema of a definition file; editors complete and validate with it."""
    del values
    from ...jsontext import dump
    from ...language.json_schema import json_schema

    context.streams.out.write(dump(json_schema(), indent=2) + "\n")
