"""Whether commands and views belong together: what is shown is there, is asked for, and can be changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ..merge import deployment_variants
from ..problem import Finding, Findings
from ..scopes import (
    conflicting_forms,
    item_names,
    names_in,
    plain_paths,
    root_names,
)
from ..source_file import Definition, Definitions, Path
from ..value_kinds import A_KIND, kind_of_result
from .many_items import added_by
from .requests import modelled_lists

if TYPE_CHECKING:
    from ..shape.commands import ChangeByCommand, ColumnDefinition, CommandDefinition

# Whether what a command says of its parameters, its columns and the options of the program is about one that there is,
# and whether its view shows what it gives.


def shown_findings(definitions: Definitions, command: Definition, *, shared: Collection[str]) -> Findings:
    """`shared` are the options of the programs."""
    table = command.table
    params = [
        param["name"] for here in (table, *deployment_variants(table).values()) for param in here.get("params", ())
    ]
    named: list[tuple[Path, str, Collection[str], str]] = [
        (("renamed", option), option, shared, "the program has no option") for option in table.get("renamed", {})
    ]
    named += [(("renamed", key), name, params, "no parameter") for key, name in table.get("renamed", {}).items()]
    if "asked" in table.get("columns", {}):
        named.append((("columns", "asked"), table["columns"]["asked"], params, "no parameter"))
    for path, name, known, said in named:
        if name not in known:
            yield Finding(path, f"{said} {name!r}{did_you_mean(name, known)}")
    view, result = definitions.get(("view", str(table.get("view")))), table.get("result")
    called = definitions.get(("operation", str(table.get("call"))))
    reply = called.table.get("reply") if called is not None and not {"save", "hold"} & table.keys() else None
    if view is not None and result is None and called is not None and reply in _NOT_SHOWN:
        text = f"{called.id} answers {_NOT_SHOWN[reply]}"
        yield Finding(("view",), text, (("operation", called.id),))
    steps = table.get("step", ())
    at: Path = ("result",)
    if steps and "result" not in table and "call" not in steps[-1] and "value" in steps[-1]:
        result, at = dict.fromkeys(item_names(steps[-1]["value"])) or None, ("step", len(steps) - 1, "value")
    # A column that a later file adds to a view of many commands may be for some of them only.
    if isinstance(result, str) and result[:1] == "{" and "}" not in result[:-1]:
        made = [step.get("value", "") for step in steps if result == f"{{{step.get('as')}}}" and "call" not in step]
        result = dict.fromkeys(item_names(made[0] if len(made) == 1 else result[1:-1])) or None
    if view is None or view.files[-1].layer > command.files[-1].layer or "convert" in table:
        return
    if (
        isinstance(result, str)
        and not (result[:1] == "{" and result[-1:] == "}")
        and all(root_names(each.get("value", "")) for each in view.table["columns"])
    ):
        near = f": write {{{result}}}" if result in added_by(steps) else ""
        yield Finding(at, f"is the text {result!r}, and view {view.id!r} shows members{near}", (("view", view.id),))
    if called is not None and not {"result", "items", "value", "save", "hold"} & table.keys():
        yield from _columns_beside_list(definitions, called, view)
    if isinstance(result, dict):
        yield from _empty_columns(
            view, result, at, id=view.table.get("id", "") if result == table.get("result") else ""
        )


_NOT_SHOWN = {
    "none": "nothing: say a `result` that it shows",
    "binary": "the bytes of a file: `save` says where they go",
}


def _columns_beside_list(definitions: Definitions, called: Definition, view: Definition) -> Findings:
    """Columns of which none reads what stands around the list that a call answers."""
    around = [listing.get("envelope") for listing in modelled_lists(definitions, called.id)]
    members = {name for each in around if isinstance(each, dict) for name in each}
    lists = [name for each in around if isinstance(each, dict) for name, value in each.items() if value == "{items}"]
    read = {name for each in view.table["columns"] for name in root_names(each.get("value", ""))}
    is_known = lists and "paginate" not in called.table and all(isinstance(each, dict) for each in around)
    if is_known and read and not read & members:
        text = f'{called.id} answers a table of {", ".join(sorted(members))}: write items = "{lists[0]}"'
        yield Finding(("view",), text, (("view", view.id), ("operation", called.id)))


def _empty_columns(view: Definition, result: Mapping[str, Any], at: Path, *, id: str) -> Findings:
    """An id that nothing fills, and columns that nothing fills where a key of the result fills none, either.

    `id` is the expression where one is wanted: rows that are made here are no things.
    """
    columns = {f"column {place}": each.get("value", "") for place, each in enumerate(view.table["columns"])}
    read = {what: dict.fromkeys(root_names(text)) for what, text in columns.items()}
    named = {name for names in read.values() for name in names}
    if result.keys() <= named:
        read = {}
    for what, names in {"the id": dict.fromkeys(root_names(id)), **read}.items():
        if names and not names.keys() & result.keys():
            text = f"{what} of view {view.id!r} is always empty: it reads {', '.join(names)}, which this lacks"
            yield Finding(at, text, (("view", view.id),))


# What the columns of a view need of commands: those that print it ask for it, and those that change it take it.


NEEDED = "needed"


def need_findings(definitions: Definitions, view: Definition) -> Findings:
    if not any("needs" in column for column in view.table["columns"]):
        return
    everything = [*definitions.items(), *definitions.removed.items()]
    printing = {
        key: definition.table
        for key, definition in everything
        if key[0] == "command" and _prints_columns(definition, view.id)
    }
    asking = [table for key, table in printing.items() if key in definitions and _asks_for_needed(table)]
    if asking:
        yield from _lacking_needs(view.table["columns"], {*chain.from_iterable(map(_words_sent, asking))})
        return
    for place, column in enumerate(view.table["columns"]) if printing else ():
        if "needs" in column:
            text = f"no command that prints this view asks for it: none uses {{{NEEDED}}}"
            yield Finding(("columns", place, "needs"), text, tuple(printing))


def _prints_columns(command: Definition, view: str) -> bool:
    return any(table.get("view") == view for table in (command.table, *deployment_variants(command.table).values()))


def _sent(command: CommandDefinition) -> list[Any]:
    each = (command, *deployment_variants(command).values())
    return [table.get(key) for table in each for key in ("args", "body", "step")]


def _asks_for_needed(command: CommandDefinition) -> bool:
    return NEEDED in names_in(_sent(command))


def _words_sent(command: CommandDefinition) -> Iterator[str]:
    """What stands beside {needed} in an argument is asked for, whatever is shown."""
    waiting: list[Any] = [_sent(command)]
    while waiting:
        value = waiting.pop()
        parts = [*(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())]
        if isinstance(value, str) or (isinstance(value, list) and not any(isinstance(each, dict) for each in value)):
            yield from re.findall(r"\w+", str(value)) if NEEDED in names_in(value) else ()
        else:
            waiting += parts


def change_findings(definitions: Definitions, view: Definition) -> Findings:
    """The command that changes what a column shows takes the value that the column names."""
    for place, column in enumerate(view.table["columns"]):
        if "change" in column:
            yield from _value_findings(definitions, column["change"], ("columns", place, "change"))


_ONE_PATH = re.compile(r"\w+(?:\.\w+)*")


_TIMES, _AMOUNTS = ("age", "date", "time"), ("bytes", "duration", "hours")


def format_fault(form: str | None, kind: str) -> str | None:
    """Why a format makes nothing of a value of this kind, or None."""
    if form in (*_TIMES, *_AMOUNTS) and kind in ("array", "object", "boolean"):
        return f"{form} is for {'times' if form in _TIMES else 'numbers'}, and this is {A_KIND[kind]}"
    return None


def column_findings(definitions: Definitions, view: Definition) -> Findings:
    """Columns that show nothing, or that nobody sees."""
    columns = view.table["columns"]
    for place, each in enumerate(columns):
        palette = definitions.get(("palette", each.get("palette", "")))
        words = palette.table.get("styles", {}) if palette is not None else {}
        if each.get("format") == "yes" and words and "shade" not in each and not {"yes", "no"} & words.keys():
            text = f"colors none of yes and no, which the column shows: it has {', '.join(map(str, words))}"
            yield Finding(("columns", place, "palette"), text, (("palette", each["palette"]),))
    read: dict[Path, str] = {("columns", place, "value"): each.get("value", "") for place, each in enumerate(columns)}
    for path, other in conflicting_forms({("id",): view.table.get("id", ""), **read}):
        yield Finding(path, f"takes an item as a list, and {'.'.join(map(str, other))} takes it as a table")
    headings = {each["name"]: each.get("value", "") for each in columns}
    if (id := view.table.get("id", "")) in headings and id not in headings.values() and id.isupper():
        yield Finding(("id",), f"is the heading of a column: write {headings[id]}")
    colored = [each for each in columns if "palette" in each and _ONE_PATH.fullmatch(each.get("value", ""))]
    words = {each["value"]: each["name"] for each in colored}
    for path, text in read.items():
        for value, name in words.items():
            if any(".".join(each).startswith(f"{value}.") for each in plain_paths(text)):
                yield Finding(path, f"looks into {value!r}, which the column {name} shows as a word")
    shown_plainly = {each.get("value") for each in columns if each.get("format") not in ("bar", "list")}
    for place, each in enumerate(columns):
        kind = kind_of_result(each.get("value", ""))
        if (fault := format_fault(each.get("format"), kind)) is not None:
            yield Finding(("columns", place, "format"), fault)
        if each.get("format") == "bar" and kind in ("", "array") and each.get("value") in shown_plainly:
            kind = "value that another column shows"
        if each.get("format") == "bar" and kind not in ("", "array"):
            text = f"a bar needs a part and the whole, [part, whole], and no {kind}"
            yield Finding(("columns", place, "format"), text)
    if columns and all(column.get("wide") for column in columns):
        yield Finding(("columns",), "each of them is wide: nothing is shown until --columns asks for one")


def _lacking_needs(columns: Sequence[ColumnDefinition], asked: Collection[str]) -> Findings:
    """Where one column needs what it shows of something, by its name, all others do, too."""
    needed = [each.get("needs", ()) for each in columns]
    shown = [[*plain_paths(each.get("value", ""))] for each in columns]
    holders = {path[0] for place, paths in enumerate(shown) for path in paths if path[1:] and path[1] in needed[place]}
    for place, paths in enumerate(shown):
        at_the_top = [name for name, *rest in paths if not rest and name in needed[place] and holders]
        if at_the_top and sum(len(paths) for paths in shown if any(path[0] in holders for path in paths)) > 1:
            text = f"what the other columns need stands in {', '.join(holders)}: write {min(holders)}.{at_the_top[0]}"
            yield Finding(("columns", place, "value"), text)
        for holder, *rest in paths:
            if holder in holders and rest and rest[0] not in {*needed[place], *asked}:
                yield Finding(("columns", place, "needs"), f"lacks {rest[0]!r}, which the column shows")


def reorder_findings(definitions: Definitions, command: Definition) -> Findings:
    """The commands that move a row of a list take the other row by the parameter that it names."""
    for side, change in command.table.get("reorder", {}).items():
        yield from _value_findings(definitions, change, ("reorder", side))


def _value_findings(definitions: Definitions, change: ChangeByCommand, path: Path) -> Findings:
    command = definitions.get(("command", change["command"]))
    if command is None:  # one that there is not is told as any reference is
        return
    params, about = command.table.get("params", ()), (("command", command.id),)
    known = [param["name"] for param in params]
    if (name := change["value"]) not in known:
        text = f"command {command.id!r} has no parameter {name!r}{did_you_mean(name, known)}"
        yield Finding((*path, "value"), text, about)
    elif all(param.get("kind") != "argument" or param["name"] == name for param in params):
        yield Finding((*path, "command"), f"command {command.id!r} has no argument that could be the thing", about)
