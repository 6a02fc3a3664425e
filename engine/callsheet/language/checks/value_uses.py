"""Whether the parts of a command can use the values that they are given, and whether texts hold what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..merge import ON, deployment_variants
from ..parameters import to_identifier
from ..problem import Finding, Findings
from ..scopes import is_list_of, names_in
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, expressions_in_text, texts_in
from .commands import added_by, steps_in, type_of_param
from .references import expression_fault

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param

    Params = Mapping[str, Param]

_OF_TEXT = ("text", "storage", "wiki", "markdown")  # converters that make a text
_NOT_FOR_EDITS = ("adf", "json", "storage", "wiki")
_WHOLE = re.compile(r"\{(\w+)\}")
_AS_IN_A_SHELL = re.compile(r"\$\{\s*(\w+)[^{}]*\}")
_LITERAL_BRACES = re.compile(r"\{\{\s*(\w+)[\w.]*\s*\}\}")
_WORD = re.compile(r"[A-Za-z_]\w*")


def use_findings(definitions: Definitions, command: Definition) -> Findings:
    """What is said for one deployment is judged with all that holds there."""
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
    for word, said in command.table.get(ON, {}).items():
        operation = definitions.get(("operation", said.get("call", "")))
        if operation is not None and "unavailable" in deployment_variants(operation.table).get(word, {}):
            text = f"{operation.id} is not there on {word}: {deployment_variants(operation.table)[word]['unavailable']}"
            yield Finding((ON, word, "call"), text, (("operation", operation.id),))


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
            text = f'{param["name"]!r} is no table that could lie over the body: convert = "json" makes one of a text'
            yield Finding((*at, "over", place), text)
    files = step.get("files", [])
    for path in files if isinstance(files, list) else [files]:
        param = _param_alone(path, params)
        if param is not None and "convert" in param:
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


def _brace_faults(text: str, params: Params, *, is_body: bool) -> Iterator[str]:
    """Braces as other programs have them. A text of a body may say anything."""
    for found in _LITERAL_BRACES.finditer(text):
        if found[1] in params:
            yield f"{found[0]} is that word in braces: a value stands in one pair, {found[0][1:-1]}"
    dollar = _AS_IN_A_SHELL.fullmatch(text) if is_body else _AS_IN_A_SHELL.search(text)
    if dollar is not None and dollar[1] in params:
        yield f"{dollar[0]}: the $ stays in it: a value is written {dollar[0][1:]}"


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
