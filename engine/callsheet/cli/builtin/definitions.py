"""`definitions check|show|path|upgrade|schema|import`: looking at the language and at what is written in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...catalog.compile import qualified_names
from ...catalog.records import Kind
from ...collector import without_collector
from ...commands.context import Context, ParameterValues
from ...errors import UsageError, count_of, did_you_mean
from ...language.layers import Layer, files_of
from ...language.load import load_definitions, own_definitions, shipped_table
from ...language.problem import Finding, Problem
from ...language.safety import SAFETY_CLASSES, class_of_operation, is_milder
from ...language.source_file import EXTEND, PARTS, Definitions
from ...openapi import ImportResult, import_document, write_files
from ...openapi.definition_files import PRODUCT, definition_file_text, directory_of, read_earlier
from ...openapi.sound import without_unsound_operations
from ...paths import own_definitions_folder
from ...programs.installed import read_manifest
from ...registry import registered_names
from .programs import document_text, path_of_document, say_changes, update_from_document

# `definitions check|show|path|upgrade|schema`: looking at the language and at what is written in it.


@without_collector()
def check_definitions(context: Context, values: ParameterValues) -> None:
    """Check all definitions in use, with `path` laid over them when it is given."""
    from ...language import check as checks

    found = list(context.layers)
    if values.get("path"):
        found.append(Layer(os.path.abspath(values["path"])))
    definitions = load_definitions(found)
    checks.check_definitions(definitions, {"operation": qualified_names(definitions)}, registered_names())
    problems = (
        limit_problems(definitions),
        _safety_problems(definitions),
        trial_problems(definitions),
        _route_problems(context, definitions),
    )
    checks.refuse_problems([*chain.from_iterable(problems)], definitions)
    checks.refuse_problems([*_sandbox_problems(context.program, definitions)], definitions)
    for text in definitions.notes:
        context.note(f"{text}; `{context.program} definitions upgrade` changes the file")
    files = sum(len(files_of(layer)) for layer in found)
    context.streams.out.write(f"{count_of(len(definitions), 'definition')} in {count_of(files, 'file')}, no problems\n")


def limit_problems(definitions: Definitions) -> Iterator[Problem]:
    """Limits with which a listener would not start."""
    for listener in definitions.of_kind("listener"):
        if "max_in_flight" in listener.table:
            from ...listener.byte_budget import least_budget

            largest = listener.table["max_body"]
            if listener.table["max_in_flight"] < (least := least_budget(largest)):
                text = f"leaves no room for a body of {largest}: say at least {least}, or a smaller max_body"
                yield Problem(listener, Finding(("max_in_flight",), text))


def _safety_problems(definitions: Definitions) -> Iterator[Problem]:
    """Classes of one's own that are not taken. A start goes on with the shipped ones, as any policy has to hold."""
    for operation in own_definitions(definitions, "operation"):
        shipped = shipped_table(operation)
        own = [laid for file, laid in zip(operation.files, operation.laid, strict=False) if not file.shipped]
        said = next((laid["safety"] for laid in reversed(own) if "safety" in laid), None)
        if said in SAFETY_CLASSES and shipped is not None and "http" in shipped:
            least = class_of_operation(shipped)
            if is_milder(said, least):
                yield Problem(
                    operation, Finding(("safety",), f"stays {least!r}, as shipped: only a worse one is taken")
                )


def trial_problems(definitions: Definitions) -> Iterator[Problem]:
    """What sources make of deliveries that are made for them here."""
    sources = list(definitions.of_kind("source"))
    if not sources:
        return
    from ...listener.source_trials import trial_findings

    events = {event.id: event.table for event in definitions.of_kind("event")}
    for source in sources:
        yield from (Problem(source, finding) for finding in trial_findings(source.id, source.table, events))


def _route_problems(context: Context, definitions: Definitions) -> Iterator[Problem]:
    """What cannot be made of routes."""
    if any(True for _ in definitions.of_kind("route")):
        from ...listener.route_trials import trial_problems_of_routes

        yield from trial_problems_of_routes(definitions, context.environ)


def _sandbox_problems(program: str, definitions: Definitions) -> Iterator[Problem]:
    """What a sandbox makes of requests that are made for it here, where somebody described what it keeps."""
    if any(True for _ in own_definitions(definitions, "entity")):
        from ...sandbox.action_trials import trial_problems_of_actions

        yield from trial_problems_of_actions(program, definitions)
    from ...sandbox.answer_trials import trial_problems_of_answers

    yield from trial_problems_of_answers(program, definitions)


def show_definition(context: Context, values: ParameterValues) -> None:
    """One definition as TOML to change and to keep, or as it is compiled in the format asked for.

    Without an id: the ids; without a kind: the kinds.
    """
    catalog = context.catalog
    kind, id = values.get("kind"), values.get("id")
    if kind is None:
        context.output().print_items(
            [{"kind": name, "count": count} for name, count in catalog.count_by_kind().items()]
        )
        return
    if (within := next((within for within, part in PARTS.items() if part == kind), None)) is not None:
        raise UsageError(
            f"a {kind} is the table {within!r} of a resource", hint=f"definitions show resource {id or 'ID'}"
        )
    if kind not in catalog.count_by_kind():
        raise UsageError(f"no definitions of kind {kind!r}{did_you_mean(kind, catalog.count_by_kind())}")
    if id is None:
        context.output().print_items([{"id": each} for each in catalog.ids(kind)])
        return
    table = Kind[dict[str, Any]](kind, catalog).get(id)
    if context.option("output"):
        context.output().print_one(table)
        return
    context.streams.out.write(_overlay_text(context, kind, catalog.canonical_id(kind, id)))


def _overlay_text(context: Context, kind: str, id: str) -> str:
    """A definition as all its files say it together: pasted into a file of one's own it changes nothing yet."""
    definition = load_definitions(context.layers)[kind, id]
    files = dict.fromkeys(os.path.realpath(file.path) for file in definition.files)
    said = "".join(f"# {path}\n" for path in files)
    own = os.path.join(own_definitions_folder(context.environ, context.program), "mine.toml")
    hint = f"# Said in these files. To change it, keep the lines that you change in a file such as {own}\n"
    return f"{said}{hint}\n{definition_file_text({kind: {id: definition.table}}, EXTEND)}"


def print_definition_paths(context: Context, _values: ParameterValues) -> None:
    """The directories of definitions, and how many files each holds."""
    rows = []
    for layer in context.layers:
        present = os.path.isdir(layer.directory)
        rows.append({"directory": layer.directory, "files": len(files_of(layer)) if present else None})
    context.output().print_items(rows)


def upgrade_definitions(context: Context, values: ParameterValues) -> None:
    """Rewrite a person's files, or those at `path`, in the words of today, or show what would change."""
    from difflib import unified_diff

    from ...files import write_atomically
    from ...language.upgrade import find_upgrades

    found, wanted = list(context.layers), set[str]()
    if values.get("path"):
        layer = Layer(os.path.abspath(values["path"]))
        wanted = {path for path, _ in files_of(layer)}
        known = {path for each in found for path, _ in files_of(each)}
        if not wanted:
            raise UsageError(f"no definition files at {values['path']}")
        if wanted.isdisjoint(known):
            found.append(layer)
    changed = [each for each in list(find_upgrades(found, wanted)) if each.before != each.after]
    for each in changed:
        if values["diff"] or context.option("dry-run"):
            lines = each.before.splitlines(keepends=True), each.after.splitlines(keepends=True)
            context.streams.out.writelines(unified_diff(*lines, each.path, each.path))
        else:
            write_atomically(each.path, each.written, os.stat(each.path).st_mode & 0o777)
            context.streams.out.write(f"{each.path}: {count_of(each.changes, 'change')}\n")
    if not changed:
        context.note("every file is up to date")


def print_schema(context: Context, _values: ParameterValues) -> None:
    """The JSON Schema of a definition file; editors complete and validate with it."""
    from ...jsontext import dump_json
    from ...language.json_schema import json_schema

    context.streams.out.write(dump_json(json_schema(), indent=2) + "\n")


# `definitions import`: an OpenAPI document → operation definitions of one's own.


_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@without_collector()
def import_definitions(context: Context, values: ParameterValues) -> None:
    """Nothing is written unless the definitions are sound with the new files in the place of the old ones."""
    key = values["product"]
    if not _KEY.fullmatch(key):
        raise UsageError(f"--product {key!r}: expected letters, digits, hyphens and underscores")
    own = own_definitions_folder(context.environ, context.program)
    target = os.path.abspath(values.get("to") or own)
    if key == context.program and target == own and read_manifest(own).files:
        update_from_document(context, key, values["spec"], values.get("address"), values.get("title"))
        return
    found = without_unsound_operations(context.layers, _import_document(context, values, key, target), key, target)
    result = found.result
    say_changes(context, found)
    made = [(len(result.operations), "operation"), (len(result.schemas), "schema"), (len(result.files), "file")]
    counts = "{} and {} in {}".format(*(count_of(number, noun) for number, noun in made))
    where = os.path.join(target, *directory_of(key).split("/"))
    if context.option("dry-run"):
        context.streams.out.write(f"{key}: {counts} would be written to {where}\n")
        return
    stale = write_files(result.files, target, key)
    left = f"; {count_of(len(stale), 'file')} of an earlier import removed" if stale else ""
    context.streams.out.write(f"{key}: {counts} written to {where}{left}\n")


def _import_document(context: Context, values: ParameterValues, key: str, target: str) -> ImportResult:
    products = context.catalog.products.all()
    known = products.get(key)
    introduced = os.path.join(target, *directory_of(key).split("/"), f"{PRODUCT}.toml")
    orders = {name: product.get("order", 1000) for name, product in products.items()}
    order = orders.get(key, max(orders.values(), default=0) + 1)
    return import_document(
        document_text(context, values["spec"]),
        key,
        name="standard input" if values["spec"] == "-" else values["spec"],
        path=path_of_document(values["spec"]),
        paginators=context.catalog.paginators.all(),
        taken=_taken_ids(context, orders, key, order),
        experimental=known.get("import", {}).get("experimental") if known else None,
        descriptions=not values.get("no-descriptions"),
        introduce=order if known is None or os.path.exists(introduced) else None,
        title=values.get("title"),
        base_url=values.get("address"),
        earlier=read_earlier(target, key),
    )


def _taken_ids(context: Context, orders: dict[str, int], key: str, order: int) -> set[str]:
    """The ids that belong to products which come before."""
    before = {name for name, place in orders.items() if name != key and place < order}
    return {id for id, operation in context.catalog.operations.all().items() if operation["product"] in before}
