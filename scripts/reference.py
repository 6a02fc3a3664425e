"""Write the pages of the documentation that follow from others: `python3 scripts/reference.py [--check]`.

docs/commands-*.md are the help of every command; those of a large program have a page each group, and its commands are
shown as calls in Python too. docs/definitions-reference*.md are the kinds of definitions with their keys.
docs/senders.md and docs/senders/ are in `reference_senders.py`. Exit codes, environment variables and messages are in
`reference_facts.py`.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import reference_facts
import reference_senders
from callsheet import registry
from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.cli.main import run
from callsheet.language.functions import Functions
from callsheet.language.json_schema import json_schema
from callsheet.language.shape import KINDS
from callsheet.library.arguments import python_name
from callsheet.library.program import open_in
from reference_facts import table

ROOT = Path(__file__).resolve().parent.parent
WIDTH = "COLUMNS"
WIDE = 100  # characters of a line
MADE = "Written by `scripts/reference.py`."
WRITTEN = "Written by `scripts/reference.py` from the definitions."
ON_ONE_PAGE = 100  # commands


def paths(catalog: Catalog, parent: str = "") -> list[str]:
    found: list[str] = []
    for child in catalog.children_of(parent):
        if child.hidden:
            continue
        path = f"{parent} {child.name}".strip()
        found.append(path)
        if child.kind == "group":
            found += paths(catalog, path)
    return found


def help_of(program: str, path: str, environ: dict[str, str]) -> str:
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdout = sys.stdout, out
    try:
        code = run(program, [*path.split(), "--help"], environ=environ, stdout=out, stderr=err)
    finally:
        sys.stdout = before
    if code != 0:
        raise SystemExit(f"{program} {path} --help: {err.getvalue()}")
    return out.getvalue().rstrip()


def command_pages(program: str, environ: dict[str, str]) -> dict[Path, str]:
    """The help of all commands, by page. Groups of a program that has many commands have pages of their own."""
    catalog = open_catalog(program, environ)
    top = [child for child in catalog.children_of("") if not child.hidden]
    inside = {child.name: [child.name, *paths(catalog, child.name)] for child in top}
    catalog.close()
    groups = [child for child in top if child.kind == "group" and sum(map(len, inside.values())) > ON_ONE_PAGE]
    page = ROOT / "docs" / f"commands-{program}.md"
    blocks = [f"# The commands of `{program}`", WRITTEN]
    if groups:
        rows = [(f"[`{child.name}`]({page.stem}/{child.name}.md)", child.help) for child in groups]
        blocks.append(table(("group", "what its commands are about"), rows))
    here = [path for child in top if child not in groups for path in inside[child.name]]
    found = {page: "\n\n".join([*blocks, *helps(program, ["", *here], environ)]) + "\n"}
    for child in groups:
        blocks = [f"# `{program} {child.name}`", WRITTEN, *helps_with_calls(program, inside[child.name], environ)]
        found[page.with_suffix("") / f"{child.name}.md"] = "\n\n".join(blocks) + "\n"
    return found


def helps(program: str, paths: Iterable[str], environ: dict[str, str]) -> Iterator[str]:
    for path in paths:
        yield f"## `{program} {path}".rstrip() + f"`\n\n```text\n{help_of(program, path, environ)}\n```"


def helps_with_calls(program: str, paths: Sequence[str], environ: dict[str, str]) -> Iterator[str]:
    """Each command with its signature as the library has it; not what serves until it is stopped."""
    with open_in(environ, program) as library, closing(open_catalog(program, environ)) as catalog:
        for path, text in zip(paths, helps(program, paths, environ), strict=True):
            yield text
            command = catalog.commands.find(path)
            if command is not None and command.get("builtin") not in registry.SERVING | registry.TALKING:
                call = f"{'.'.join([program, *map(python_name, path.split())])}{library.command(path).__signature__}"
                lines = textwrap.wrap(call, WIDE, subsequent_indent="    ", break_on_hyphens=False)
                yield "\n".join(["In Python:\n\n```python", *lines, "```"])


NAMES = (
    ("Formats of columns", registry.COLUMN_FORMATS),
    ("Converters", registry.CONVERTERS),
    ("Handlers of events", registry.HANDLERS),
)


# What no definition of a person's own needs: what the shipped programs are made of beside their commands.
OF_THE_ENGINE = ("node", "entity", "simulation", "query", "assignment", "container", "host", "deployment", "renamed")


def language() -> str:
    """The kinds that people write with their keys, the tables inside, and the names of the engine's own functions."""
    tables = json_schema()["$defs"]
    kinds = [kind for kind in KINDS if kind not in OF_THE_ENGINE]
    blocks = [
        "# Reference of the language of definitions",
        f"{MADE} [The language of definitions](definitions.md) explains how it is used.",
        "[Another page](definitions-reference-engine.md) has the kinds that only the shipped programs need.",
        *blocks_of_kinds(tables, kinds, tables_inside(tables, kinds)),
    ]
    for title, entries in NAMES:
        rows = [
            (f"`{name}`", first_line(registry.resolve_entry(entry).__doc__)) for name, entry in sorted(entries.items())
        ]
        blocks.append(f"## {title}\n\n{table(('name', 'what it does'), rows)}")
    functions = {name: each for name, each in vars(Functions).items() if name.startswith("_func_")}
    rows = [(f"`{called(name, each)}`", first_line(each.__doc__)) for name, each in sorted(functions.items())]
    blocks.append(f"## Functions of expressions\n\nBeside JMESPath's own:\n\n{table(('function', 'value'), rows)}")
    return "\n\n".join(blocks) + "\n"


def language_of_engine() -> str:
    """The other kinds, with the tables that only these have inside."""
    tables = json_schema()["$defs"]
    elsewhere = tables_inside(tables, [kind for kind in KINDS if kind not in OF_THE_ENGINE])
    blocks = [
        "# Reference of definitions that only the shipped programs need",
        f"{MADE} [The reference](definitions-reference.md) has the kinds that people write.",
        *blocks_of_kinds(tables, OF_THE_ENGINE, tables_inside(tables, OF_THE_ENGINE) - elsewhere),
    ]
    return "\n\n".join(blocks) + "\n"


def tables_inside(tables: dict[str, Any], kinds: Iterable[str]) -> set[str]:
    """The tables that can stand in definitions of these kinds, at any depth."""
    found: set[str] = set()
    waiting = [f"kind.{kind}" for kind in kinds if f"kind.{kind}" in tables]
    while waiting:
        for name in re.findall(r"#/\$defs/([\w.-]+)", json.dumps(tables[waiting.pop()])):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return {name for name in found if not name.startswith("kind.") and "properties" in tables[name]}


def blocks_of_kinds(tables: dict[str, Any], kinds: Iterable[str], inside: Iterable[str]) -> Iterator[str]:
    for kind in kinds:
        if f"kind.{kind}" in tables:
            yield f"## `{kind}`\n\n{keys_of(tables[f'kind.{kind}'])}"
    yield "## Tables inside"
    for name in sorted(inside):
        yield f"### {name}\n\n{keys_of(tables[name])}"


def called(name: str, function: Callable[..., Any]) -> str:
    return f"{name.removeprefix('_func_')}({', '.join([*inspect.signature(function).parameters][1:])})"


def keys_of(shape: dict[str, Any]) -> str:
    required = set(shape.get("required", ()))
    rows = [
        (f"`{name}`", type_of(node) + (", required" if name in required else ""), first_line(node.get("description")))
        for name, node in shape.get("properties", {}).items()
    ]
    about = f"{' '.join(shape['description'].split())}\n\n" if shape.get("description") else ""
    return f"{about}{table(('key', 'value', 'meaning'), rows)}" if rows else about.rstrip()


def type_of(node: dict[str, Any]) -> str:
    if "$ref" in node:
        return str(node["$ref"]).rpartition("/")[2].removeprefix("kind.")
    if "enum" in node or "const" in node:
        return ", ".join(f"`{value}`" for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(type_of(each) for each in node["anyOf"]))
    if node.get("type") == "array":
        return f"list of {type_of(node.get('items', {}))}"
    if node.get("type") == "object" and isinstance(node.get("additionalProperties"), dict):
        return f"table of {type_of(node['additionalProperties'])}"
    return {"string": "text", "object": "table", "boolean": "true or false"}.get(
        node.get("type", ""), str(node.get("type", "any"))
    )


def first_line(text: str | None) -> str:
    return " ".join((text or "").strip().partition("\n\n")[0].split())


def main(arguments: list[str]) -> int:
    os.environ[WIDTH] = str(WIDE)
    with tempfile.TemporaryDirectory() as home:
        environ = {"CALLSHEET_HOME": home, "HOME": home}
        written: dict[Path, str] = {}
        for name in ("suite", "lms", "callsheet"):
            written |= command_pages(name, environ)
        written[ROOT / "docs" / "environment.md"] = reference_facts.environment(environ)
        written |= {ROOT / "docs" / name: text for name, text in reference_senders.pages(environ).items()}
    written[ROOT / "docs" / "definitions-reference.md"] = language()
    written[ROOT / "docs" / "definitions-reference-engine.md"] = language_of_engine()
    written[ROOT / "docs" / "exit-codes.md"] = reference_facts.exit_codes()
    stale = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    made = [*(ROOT / "docs").glob("commands-*/*.md"), *(ROOT / "docs" / "senders").glob("*.md")]
    left = [path for path in made if path not in written]
    if "--check" in arguments:
        for path in [*stale, *left]:
            print(f"{path.relative_to(ROOT)} is not up to date: run python3 scripts/reference.py", file=sys.stderr)
        return 1 if stale or left else 0
    for path in left:
        path.unlink()
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(written[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
