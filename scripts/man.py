"""Write manual pages to build/man/man1: `python3 scripts/man.py [FOLDER]`. One for each program, group and command.

They are made of what help shows: of the definitions. `man -l build/man/man1/suite-issues-list.1` reads one. The date is
that of SOURCE_DATE_EPOCH where it is set, so that two builds of one version are the same.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from callsheet import __version__
from callsheet.cli.tree import DefinedCommand, root_group
from callsheet.commands.context import Context
from callsheet.language.parameters import argument_name
from reference_facts import MEANINGS

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ("suite", "lms", "callsheet")
LONGEST = 66  # characters of a line, before some of them are escaped
Rows = Sequence[tuple[str, str]]


def pages(program: str, environ: Mapping[str, str] = MappingProxyType({})) -> Iterator[tuple[str, str]]:
    """File name → page, of a program and everything below it that help lists."""
    with tempfile.TemporaryDirectory() as home:
        context = Context(program, {"CALLSHEET_HOME": home, "HOME": home, **environ})
        try:
            top = root_group(context, lambda _context, _command, _values: None)
            yield from _below(top, _context(top, program, obj=context))
        finally:
            context.close()


def _below(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, str]]:
    name = _file_name(ctx.command_path)
    yield f"{name}.1", _page(command, ctx)
    for child in _children(command, ctx):
        yield from _below(child, _context(child, child.name, parent=ctx, obj=ctx.obj))


def _context(command: click.Command, name: str | None, **settings: Any) -> click.Context:
    return click.Context(command, info_name=name, **settings, **command.context_settings)


def _children(command: click.Command, ctx: click.Context) -> list[click.Command]:
    if not isinstance(command, click.Group):
        return []
    found = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
    return [child for child in found if child is not None and not child.hidden]


def _page(command: click.Command, ctx: click.Context) -> str:
    path, name = ctx.command_path, _file_name(ctx.command_path)
    summary, _, more = (command.help or "").strip().partition("\n")
    children = _children(command, ctx)
    parts = [
        f'.TH "{name.upper()}" 1 "{_date()}" "callsheet {__version__}" "Callsheet"',
        f".SH NAME\n{_text(name)} \\-\n{_prose(summary.rstrip('.'))}",
        f".SH SYNOPSIS\n.B {_text(path)}\n{_text(' '.join(command.collect_usage_pieces(ctx)))}",
        _section("DESCRIPTION", _paragraphs("\n".join([more, _about(command)])) or _prose(summary)),
        _list("ARGUMENTS", _arguments(command)),
        _list("OPTIONS", _options(command, ctx)),
        _list("COMMANDS", [(child.name or "", child.get_short_help_str(200)) for child in children]),
        _section("EXAMPLES", "\n.PP\n".join(f".EX\n{_text(line)}\n.EE" for line in _examples(command, path))),
        _list("EXIT STATUS", [(str(code), meaning) for code, meaning in MEANINGS.items()]) if not ctx.parent else "",
        _global(ctx),
        _section("SEE ALSO", "\n".join(f".BR {_text(each)} (1)," for each in _related(ctx, children)).rstrip(",")),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _global(ctx: click.Context) -> str:
    program = ctx.find_root().command_path
    return _section("GLOBAL OPTIONS", f"Those of\n.BR {_text(program)} (1)\nmay stand here too.") if ctx.parent else ""


def _about(command: click.Command) -> str:
    return command.definition.get("about", "") if isinstance(command, DefinedCommand) else ""


def _arguments(command: click.Command) -> Rows:
    if not isinstance(command, DefinedCommand):
        return []
    params = command.definition.get("params", [])
    return [(argument_name(each), each["help"]) for each in params if each.get("kind") == "argument" and "help" in each]


def _options(command: click.Command, ctx: click.Context) -> Rows:
    records = [each.get_help_record(ctx) for each in command.get_params(ctx) if isinstance(each, click.Option)]
    return [record for record in records if record]


def _examples(command: click.Command, path: str) -> list[str]:
    given = command.definition.get("examples", []) if isinstance(command, DefinedCommand) else []
    return [f"{path.partition(' ')[0]} {example}" for example in given]


def _related(ctx: click.Context, children: Sequence[click.Command]) -> list[str]:
    above = [_file_name(ctx.parent.command_path)] if ctx.parent else []
    return above + [_file_name(f"{ctx.command_path} {child.name}") for child in children]


def _file_name(path: str) -> str:
    return path.replace(" ", "-")


def _list(title: str, rows: Rows) -> str:
    return _section(title, "\n".join(f".TP\n.B {_text(name)}\n{_prose(about)}" for name, about in rows if about))


def _section(title: str, body: str) -> str:
    return f".SH {title}\n{body}" if body.strip() else ""


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(_prose(part) for part in re.split(r"\n\s*\n", text.strip()) if part.strip())


def _text(text: str) -> str:
    """On one line, and safe in a page: no character means something to the formatter."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    escaped = escaped.replace("^", "\\(ha").replace("~", "\\(ti").replace('"', "\\(dq")
    return re.sub(r"^\.", r"\\&.", " ".join(escaped.split()))


def _prose(text: str) -> str:
    """On lines of a usual length."""
    lines = textwrap.wrap(" ".join(text.split()), LONGEST, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_text, lines))


def _date() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "man"
    (folder / "man1").mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        for name, page in pages(program):
            (folder / "man1" / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
