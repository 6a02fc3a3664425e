"""Whether the parts of a command can use the values that they are given, and whether texts hold what was meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...errors import DefinitionError
from ..command_line import bind_words
from ..conditions import kind_of_result
from ..merge import ON, deployment_variants
from ..parameters import to_identifier
from ..problem import Finding, Findings
from ..scopes import is_list_of, names_in, root_names
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, evaluate, expressions_in_text, is_true, texts_in
from .commands import NEEDED, added_by, steps_in, type_of_param
from .references import expression_fault

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param

    Params = Mapping[str, Param]

_OF_TEXT = ("text", "storage", "wiki", "markdown")  # converters that make a text
_NOT_FOR_EDITS = ("adf", "json", "storage", "wiki")
_WHOLE = re.compile(r"\{(\w+)\}")
_AS_IN_A_SHELL = re.compile(r"\$\{\s*(\w+)[^{}]*\}")
_LITERAL_BRACES = re.compile(r"\{\{\s*(\w+)[\w.]*\s*\}\}")
_TYPED = re.compile(r"\{given\.(\w+)\}")
_WORD = re.compile(r"[A-Za-z_]\w*")


def use_findings(
    definitions: Definitions, command: Definition, *, asked: Collection[tuple[str, str]], shared: Sequence[Param]
) -> Findings:
    """What is said for one deployment is judged with all that holds there.

    `asked` is as `arguments_with_needed` has it; `shared` are the options of the programs.
    """
    told: set[tuple[Path, str]] = set()
    there = deployment_variants(command.table)
    for at, here in [((), command.table), *(((ON, word), each) for word, each in there.items())]:
        bound = added_by([*steps_in(here)])
        params = {to_identifier(param["name"]): param for param in here.get("params", ())}
        params = {name: param for name, param in params.items() if name not in bound}
        for finding in _findings(definitions, here, params):
            if (finding.path, finding.text) not in told:
                told.add((finding.path, finding.text))
                yield finding._replace(path=(*at, *finding.path))
    yield from _need_findings(definitions, command, asked)
    yield from _example_findings(command, shared)
    for word, said in command.table.get(ON, {}).items():
        operation = definitions.get(("operation", said.get("call", "")))
        if operation is not None and "unavailable" in deployment_variants(operation.table).get(word, {}):
            text = f"{operation.id} is not there on {word}: {deployment_variants(operation.table)[word]['unavailable']}"
            yield Finding((ON, word, "call"), text, (("operation", operation.id),))


def part_findings(_: Definitions, part: Definition) -> Findings:
    """What the last step of a part answers are its items."""
    last = len(part.table["step"]) - 1
    kind = kind_of_result(part.table["step"][last].get("value", ""))
    if kind in ("number", "string", "boolean"):
        yield Finding(("step", last, "value"), f"is a {kind}, and the items of a part are a list")


def arguments_with_needed(definitions: Definitions) -> set[tuple[str, str]]:
    """The operations that some command hands what columns need, and by which argument."""
    found: set[tuple[str, str]] = set()
    for command in (each for each in definitions.of_kind("command") if NEEDED in str(each.table)):
        for here in (command.table, *deployment_variants(command.table).values()):
            for step in (here, *steps_in(here)):
                args = step.get("args", {})
                found |= {(str(step.get("call")), name) for name, value in args.items() if NEEDED in names_in(value)}
    return found


def _example_findings(command: Definition, shared: Sequence[Param]) -> Findings:
    """An example that the command itself refuses."""
    params = command.table.get("params", ())
    rules = [(rule["when"], rule["fail"]) for param in params for rule in param.get("refuse", ())]
    for step in command.table.get("step", ()):
        if not {"fail", "when"} <= step.keys():
            break
        rules.append((step["when"], step["fail"]))
    known = {to_identifier(param["name"]) for param in params if not _MADE & param.keys()}
    rules = [(when, fail) for when, fail in rules if known >= {*root_names(when)}]
    for place, line in enumerate(command.table.get("examples", ()) if rules else ()):
        words = _words_of_example(command.id, line)
        try:
            given = bind_words(words, params, shared) if words is not None else None
        except DefinitionError:
            continue
        scope = {to_identifier(param["name"]): _typed_value(param, given or {}) for param in params}
        for when, fail in rules if given is not None else ():
            with suppress(TemplateError):
                if is_true(evaluate(when, scope)):
                    yield Finding(("examples", place), f"{line!r} is refused: {fail}")


def _words_of_example(command: str, line: str) -> list[str] | None:
    """Those behind the words of the command; None of what is more than one command line."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    own = command.split()
    return words[len(own) :] if words[: len(own)] == own and not _OF_SHELLS & {*words} else None


_MADE = frozenset({"convert", "assign", "members", "removes", "excludes"})  # something else than the words
_OF_SHELLS = frozenset({"|", ";", ">", "<", "&&", "||"})


def _typed_value(param: Param, given: Mapping[str, Any]) -> Any:
    """As expressions see it, where nothing is looked up."""
    value = given.get(param["name"], param.get("default", False if param.get("kind") == "flag" else None))
    if isinstance(value, str) and param.get("split"):
        return value.split(",")
    if isinstance(value, str) and param.get("type") in ("integer", "number"):
        return evaluate("to_number(@)", value)
    return [value] if param.get("multiple") and isinstance(value, str) else value


def _need_findings(definitions: Definitions, command: Definition, asked: Collection[tuple[str, str]]) -> Findings:
    """A command asks for what its columns need, where they can be asked for, and has columns that need something."""
    tables = (command.table, *deployment_variants(command.table).values())
    views = {here.get("view") for here in tables}
    shown = [definitions[("view", id)] for id in views if id is not None and ("view", id) in definitions]
    columns = [column for view in shown for column in view.table["columns"]]
    asking = [here for here in tables if NEEDED in names_in([here.get(key) for key in ("args", "body", "step")])]
    if asking and len(shown) == len(views) and not any("needs" in column for column in columns):
        text = f"{{{NEEDED}}} is always null: no column of view {shown[0].id!r} says what it `needs`"
        yield Finding(("view",), text, (("view", shown[0].id),))
    table, steps = command.table, command.table.get("step", ())
    last, at = (steps[-1], ("step", len(steps) - 1)) if steps else (table, ())
    if "result" in table or "items" in table or not shown:
        return
    wanted = [name for each in shown[0].table["columns"] if not each.get("wide") for name in each.get("needs", ())]
    for name, value in last.get("args", {}).items():
        if (last.get("call"), name) in asked and isinstance(value, list):
            lacking = [each for each in dict.fromkeys(wanted) if each not in value]
            if lacking and "view" not in table.get(ON, {}):
                text = f"lacks {', '.join(lacking)}, which columns of view {shown[0].id!r} show: write {{{NEEDED}}}"
                yield Finding((*at, "args", name), text, (("view", shown[0].id),))


def _findings(definitions: Definitions, table: CommandDefinition, params: Params) -> Findings:
    yield from _default_findings(table)
    yield from _word_findings({key: table.get(key) for key in ("args", "body", "result")}, params, ())
    yield from _keep_findings(definitions, table, params)
    if "call" in table:
        yield from _step_findings(table, params, ())
    yield from _steps_findings(definitions, table.get("step", ()), params, ("step",))
    edited = {name for step in (table, *steps_in(table)) for name in names_in(step.get("edit"))}
    compared = {word for text in texts_in([*table.values()]) if "among(" in text for word in _WORD.findall(text)}
    for place, param in enumerate(table.get("params", ())):
        name = to_identifier(param["name"])
        if param.get("convert") == "markdown" and name in params and name not in edited:
            text = "makes Markdown for an `edit` step, and none takes it: storage, adf and wiki are for bodies"
            yield Finding(("params", place, "convert"), text)
        if param.get("excludes") and name in params and name not in compared:
            text = f"leaves the not: in its words for among(..., {name}), and nothing hands it to that"
            yield Finding(("params", place, "excludes"), text)


def _steps_findings(definitions: Definitions, steps: Sequence[Any], params: Params, at: Path) -> Findings:
    for place, step in enumerate(steps):
        yield from _step_findings(step, params, (*at, place))
        tables = {key: step.get(key) for key in ("args", "body")} | {"result": step.get("each", {}).get("result")}
        yield from _word_findings(tables, params, (*at, place))
        if "each" in step:
            yield from _item_findings(definitions, step["each"], params, (*at, place, "each"))
            yield from _steps_findings(definitions, step["each"]["step"], params, (*at, place, "each", "step"))


def _step_findings(step: Any, params: Params, at: Path) -> Findings:
    """Of a step, or of what a command without steps does."""
    for place, layer in enumerate(step.get("over", ())):
        param = _param_alone(layer, params)
        if param is not None and _is_no_table(param):
            text = f'{param["name"]!r} cannot lie over the body: convert = "json" makes a table of a text'
            yield Finding((*at, "over", place), text)
    files = step.get("files", [])
    for path in files if isinstance(files, list) else [files]:
        param = _param_alone(path, params)
        if param is not None and param.get("convert") in _OF_TEXT:
            text = f"takes paths, and {param['name']!r} is what stands in the file: leave out its `convert`"
            yield Finding((*at, "files"), text)
    edited = _param_alone(step.get("edit", {}).get("text"), params) if "when" not in step else None
    if edited is not None and edited.get("convert", "text") in _NOT_FOR_EDITS:
        text = f'takes Markdown, and {edited["name"]!r} is none any more: say convert = "markdown" of it'
        yield Finding((*at, "edit", "text"), text)
    rule, body = step.get("unless_same"), step.get("body")
    if rule and isinstance(body, dict):
        compared = {*rule["body"], *rule.get("apart", ())}
        for key in (key for key, value in body.items() if not isinstance(value, str) and key not in compared):
            text = f"is never the same: {key!r} is always sent, and stands neither in its `body` nor in `apart`"
            yield Finding((*at, "unless_same"), text)


def _item_findings(definitions: Definitions, each: Any, params: Params, at: Path) -> Findings:
    """What names an item that is a text has no member to look at."""
    param = params.get(each["items"].strip())
    if param is None or any(key in param for key in ("convert", "assign", "members", "removes", "excludes")):
        return
    lookup = definitions.get(("lookup", param.get("lookup", "")))
    is_text = param.get("type", "text") == "text" and (lookup is None or "pattern" in lookup.table)
    if is_text and "name" in each and is_list_of(each["name"]) is False:
        yield Finding((*at, "name"), f"an item of {each['items']!r} is a text, without members: write @")


def _default_findings(table: CommandDefinition) -> Findings:
    for place, param in enumerate(table.get("params", ())):
        default = param.get("default")
        if isinstance(default, str) and any("(" in each for each in _placeholders(default)):
            text = f"{default!r} is the value as it stands: a placeholder is filled in where the parameter is used"
            yield Finding(("params", place, "default"), text)


def _placeholders(text: str) -> list[str]:
    try:
        return [each for each in expressions_in_text(text) if expression_fault(each) is None]
    except TemplateError:
        return []


def _word_findings(tables: Mapping[str, Any], params: Params, at: Path) -> Findings:
    """Names of parameters that stand there as words."""
    for key, value in tables.items():
        for path, text in _constants(value):
            if path[-1:] == (text,) and text in params:
                yield Finding((*at, key, *path), f"is the word {text!r}: the value is written {{{text}}}")
        for text in texts_in(value):
            yield from (Finding((*at, key), fault) for fault in _brace_faults(text, params, is_body=key == "body"))
            typed = _TYPED.fullmatch(text) if key != "result" else None
            if typed is not None and "lookup" in params.get(typed[1], ()):
                yield Finding((*at, key), f"{text} is the word that was typed: {{{typed[1]}}} is what was found for it")
            if key == "args":
                yield from (Finding((*at, key), fault) for fault in _list_in_text_faults(text, params))


def _brace_faults(text: str, params: Params, *, is_body: bool) -> Iterator[str]:
    """Braces as other programs have them. A text of a body may say anything."""
    for found in _LITERAL_BRACES.finditer(text):
        if found[1] in params:
            yield f"{found[0]} is that word in braces: a value stands in one pair, {found[0][1:-1]}"
    dollar = _AS_IN_A_SHELL.fullmatch(text) if is_body else _AS_IN_A_SHELL.search(text)
    if dollar is not None and dollar[1] in params:
        yield f"{dollar[0]}: the $ stays in it: a value is written {dollar[0][1:]}"


def _list_in_text_faults(text: str, params: Params) -> Iterator[str]:
    """A list or a table is JSON among other words, which no query understands."""
    for name in (name for name in _placeholders(text) if name in params and text != f"{{{name}}}"):
        param = params[name]
        is_list = ("multiple" in param or "split" in param) and not _MADE & param.keys()
        if is_list or type_of_param(param) == "object":
            yield f"{{{name}}} is a list among other words: join(', ', {name}) makes a text of it"


def _constants(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The texts in tables, each with its place."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _constants(part, (*path, key))
    elif isinstance(value, str):
        yield path, value


def _keep_findings(definitions: Definitions, table: CommandDefinition, params: Params) -> Findings:
    """The thing that is kept is the one that the parameter finds."""
    keep = table.get("keep")
    param = params.get(to_identifier(keep["of"])) if keep else None
    if keep is None or param is None:
        return
    found, kept = (definitions.get(("resource", id)) for id in (param.get("lookup", ""), keep["snapshot"]))
    if found is not None and kept is not None and found is not kept and "read" in found.table:
        text = f"{keep['of']!r} finds a {found.id}, and the snapshot {kept.id!r} is of another thing"
        yield Finding(("keep", "of"), text)


def _param_alone(value: Any, params: Params) -> Param | None:
    """The parameter whose value a text is, as it is typed."""
    found = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return params.get(found[1]) if found else None


def _is_no_table(param: Param) -> bool:
    return type_of_param(param) not in ("", "object") or param.get("convert") in _OF_TEXT
