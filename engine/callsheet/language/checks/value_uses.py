"""Whether the parts of a command can use the values that they are given, and whether texts hold what was meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import DefinitionError, did_you_mean
from ...registry import JOURNAL, PAGING, SITE_SETTINGS
from ..command_line import bind_words
from ..conditions import compared_paths, names_left_out
from ..merge import ON, deployment_variants
from ..parameters import REWRITING, to_identifier
from ..problem import Finding, Findings
from ..scopes import comparisons_in, is_list_of, member_names, names_in, plain_paths, root_names
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, evaluate, expressions_in_text, is_true, split_template, texts_in
from ..value_kinds import kind_of_result, type_faults
from ..value_shapes import ValueShape, missed_members
from .body_schemas import TYPE_OF_CONVERTED, has_several, is_changed, is_taken_as_typed, resolved_schema
from .many_items import added_by
from .references import (
    ShapePlace,
    bytes_of,
    expression_fault,
    giving_fault,
    hidden_name_faults,
    pattern_fault,
    shape_places,
)
from .requests import answers_list
from .told_texts import LITERAL_BRACES, VARIABLE, told_text_faults
from .views import NEEDED

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param
    from ..shape.steps import ItemStep

    Params = Mapping[str, Param]

_NOT_FOR_EDITS = ("adf", "json", "storage", "wiki")
_WHOLE = re.compile(r"\{(\w+)\}")
_AMONG_WORDS = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")
_AS_IN_A_SHELL = re.compile(r"\$\{\s*(\w+)[^{}]*\}")
_TYPED = re.compile(r"\{given\.(\w+)\}")
_SHOWN = re.compile(r"\{named\.(\w+)\}")
_NAME_OF_ID = re.compile(r"(?:(?:^|[_-])id|Id|ID)(?:OrKey)?$")
_PLAIN_ID = re.compile(r"[\w-]+")  # no pattern, address or path
_KNOWN_BY_OTHER_NAMES = ("operation", "schema", "command")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NEEDED = NEEDED.encode()


def value_use_findings(
    definitions: Definitions,
    command: Definition,
    *,
    asking_arguments: Callable[[], Collection[tuple[str, str]]],
    shared: Sequence[Param],
) -> Findings:
    """What is said for one deployment is judged with all that holds there.

    `asking_arguments` gives what `arguments_with_needed` finds; `shared` are the options of the programs.
    """
    told: set[tuple[Path, str]] = set()
    there = deployment_variants(command.table)
    for at, here in [((), command.table), *(((ON, word), each) for word, each in there.items())]:
        bound = added_by([*_steps_in(here)])
        params = {to_identifier(param["name"]): param for param in here.get("params", ())}
        params = {name: param for name, param in params.items() if name not in bound}
        for finding in _findings_on_deployment(definitions, here, params):
            if (finding.path, finding.text) not in told:
                told.add((finding.path, finding.text))
                yield finding._replace(path=(*at, *finding.path))
    yield from _need_findings(definitions, command, asking_arguments)
    yield from _example_findings(definitions, command, shared)
    for word, said in command.table.get(ON, {}).items():
        if "step" in command.table and not {"call", "step"} & said.keys():
            yield from (
                Finding((ON, word, key), "is of no call: say it in the step whose call it is for")
                for key in ("args", "body")
                if key in said
            )
        given = {"args", "body"} & command.table.keys()
        if said.get("call") == command.table.get("call") and given and not {"args", "body", "step"} & said.keys():
            text = f"a call in `on` takes nothing of the other one along: say its {' and '.join(sorted(given))} here"
            yield Finding((ON, word, "call"), f"{text}, or leave out `call`")
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
    for command in (each for each in definitions.of_kind("command") if _NEEDED in bytes_of(each.table)):
        for here in (command.table, *deployment_variants(command.table).values()):
            for step in (here, *_steps_in(here)):
                args = step.get("args", {})
                found |= {(str(step.get("call")), name) for name, value in args.items() if NEEDED in names_in(value)}
    return found


def _example_findings(definitions: Definitions, command: Definition, shared: Sequence[Param]) -> Findings:
    """An example that the command itself refuses, or that gives members which nothing has."""
    params = command.table.get("params", ())
    rules = [(rule["when"], rule["fail"]) for param in params for rule in param.get("refuse", ())]
    for step in command.table.get("step", ()):
        if not {"fail", "when"} <= step.keys():
            break
        rules.append((step["when"], step["fail"]))
    known = {to_identifier(param["name"]) for param in params if _NOT_TYPED.isdisjoint(param)}
    rules = [(when, fail) for when, fail in rules if known >= {*root_names(when)}]
    closed = [(param["name"], members) for param in params if (members := _closed_members(definitions, param))]
    looked_up = any("lookup" in param for param in params)
    for place, line in enumerate(command.table.get("examples", ()) if rules or closed or looked_up else ()):
        words = _words_of_example(command.id, line)
        try:
            given = bind_words(words, params, shared) if words is not None else None
        except DefinitionError:
            continue
        for option, members in closed:
            for name in [word.partition("=")[0].partition(".")[0] for word in (given or {}).get(option) or ()]:
                if name not in members:
                    yield Finding(("examples", place), f"{line!r}: no member {name!r}{did_you_mean(name, members)}")
        for param in params:
            for word in _listed((given or {}).get(param["name"])):
                if fault := _never_found(definitions, param, word):
                    yield Finding(("examples", place), f"{line!r}: {fault}")
        scope = {to_identifier(param["name"]): _typed_value(param, given or {}) for param in params}
        for when, fail in rules if given is not None else ():
            with suppress(TemplateError):
                if is_true(evaluate(when, scope)):
                    yield Finding(("examples", place), f"{line!r} is refused: {fail}")


def _closed_members(definitions: Definitions, param: Param) -> Collection[str]:
    """All the members that NAME=VALUE can name, where the schema of the body says that there are no others."""
    if "members" not in param:
        return ()
    operation = definitions.get(("operation", param["members"]))
    body = operation.table.get("body", {}) if operation is not None else {}
    schema = resolved_schema(definitions, {"ref": body.get("schema")})
    return schema.get("properties", ()) if schema.get("additionalProperties") is False else ()


def _words_of_example(command: str, line: str) -> list[str] | None:
    """Those behind the words of the command; None of what is more than one command line."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    own = command.split()
    return words[len(own) :] if words[: len(own)] == own and not _OF_SHELLS & {*words} else None


# Not in the words of an example: what a person is asked for, and what a site says.
_NOT_TYPED = REWRITING | {"ask", "setting"}
_OF_SHELLS = frozenset({"|", ";", ">", "<", "&&", "||"})


def _typed_value(param: Param, given: Mapping[str, Any]) -> Any:
    """As expressions see it, where nothing is looked up."""
    value = given.get(param["name"], param.get("default", False if param.get("kind") == "flag" else None))
    if isinstance(value, str) and param.get("split"):
        return value.split(",")
    if isinstance(value, str) and param.get("type") in ("integer", "number"):
        return evaluate("to_number(@)", value)
    return [value] if param.get("multiple") and isinstance(value, str) else value


def _need_findings(
    definitions: Definitions, command: Definition, asking_arguments: Callable[[], Collection[tuple[str, str]]]
) -> Findings:
    """A command asks for what its columns need, where they can be asked for, and has columns that need something."""
    tables = (command.table, *deployment_variants(command.table).values())
    views = {here.get("view") for here in tables}
    shown = [definitions[("view", id)] for id in views if id is not None and ("view", id) in definitions]
    columns = [column for view in shown for column in view.table["columns"]]
    has_needs = any("needs" in column for column in columns)
    asks = _NEEDED in bytes_of(command.table) and any(  # nearly none has it
        NEEDED in names_in([here.get(key) for key in ("args", "body", "step")]) for here in tables
    )
    if asks and len(shown) == len(views) and not has_needs:
        text = f"{{{NEEDED}}} is always null: no column of view {shown[0].id!r} says what it `needs`"
        yield Finding(("view",), text, (("view", shown[0].id),))
    table, steps = command.table, command.table.get("step", ())
    last, at = (steps[-1], ("step", len(steps) - 1)) if steps else (table, ())
    if "result" in table or "items" in table or not has_needs:
        return
    wanted = [name for each in shown[0].table["columns"] if not each.get("wide") for name in each.get("needs", ())]
    for name, value in last.get("args", {}).items():
        lacking = [each for each in dict.fromkeys(wanted) if each not in value] if isinstance(value, list) else []
        if lacking and "view" not in table.get(ON, {}) and (last.get("call"), name) in asking_arguments():
            text = f"lacks {', '.join(lacking)}, which columns of view {shown[0].id!r} show: write {{{NEEDED}}}"
            yield Finding((*at, "args", name), text, (("view", shown[0].id),))


def _findings_on_deployment(definitions: Definitions, table: CommandDefinition, params: Params) -> Findings:
    yield from _default_findings(definitions, table)
    yield from _word_findings({key: table.get(key) for key in ("args", "body", "result")}, params, ())
    for at, step in _steps_with_places(table):
        yield from (Finding((*at, *path), text) for path, text in told_text_faults(definitions, step, params))
    answers = added_by([*_steps_in(table)])
    for number, step in enumerate(table.get("step", ())) if answers else ():
        yield from (  # an argument may be such a path: what is to be expanded
            Finding(("step", number, "body", *path), f"is sent as it stands: the value is written {{{text}}}")
            for path, text in _constants(step.get("body"))
            if _PLAIN_PATH.fullmatch(text) and text.partition(".")[0] in answers
        )
    yield from _keep_findings(definitions, table, params)
    if "call" in table:
        yield from _step_findings(table, params, ())
    yield from _steps_findings(definitions, table.get("step", ()), params, ("step",))
    for place, param in enumerate(table.get("params", ())):
        name = to_identifier(param["name"])
        if name not in params:
            continue
        if param.get("convert") == "markdown" and not any(
            name in names_in(step.get("edit")) for step in (table, *_steps_in(table))
        ):
            text = "makes Markdown for an `edit` step, and none takes it: storage, adf and wiki are for bodies"
            yield Finding(("params", place, "convert"), text)
        if param.get("excludes") and not any(
            "among(" in text and name in _WORD.findall(text) for text in texts_in([*table.values()])
        ):
            text = f"leaves the not: in its words for among(..., {name}), and nothing hands it to that"
            yield Finding(("params", place, "excludes"), text)


def _steps_with_places(table: Any) -> Iterator[tuple[Path, Any]]:
    """The command itself, its steps, and those of each item."""
    yield (), table
    for number, step in enumerate(table.get("step", ())):
        yield ("step", number), step
        for place, inner in enumerate(step.get("each", {}).get("step", ())):
            yield ("step", number, "each", "step", place), inner


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
        if param is not None and TYPE_OF_CONVERTED.get(str(param.get("convert"))) == "string":
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
    if param is None or not REWRITING.isdisjoint(param):
        return
    lookup = definitions.get(("lookup", param.get("lookup", "")))
    is_text = param.get("type", "text") == "text" and (lookup is None or "pattern" in lookup.table)
    if is_text and "name" in each and is_list_of(each["name"]) is False:
        yield Finding((*at, "name"), f"an item of {each['items']!r} is a text, without members: write @")


def _default_findings(definitions: Definitions, table: CommandDefinition) -> Findings:
    for place, param in enumerate(table.get("params", ())):
        if "default" not in param:
            continue
        default = param["default"]
        kind = param.get("complete", "")
        known = [each.id for each in definitions.of_kind(kind)] if kind not in _KNOWN_BY_OTHER_NAMES else []
        for word in _listed(default):
            if fault := _never_found(definitions, param, word):
                yield Finding(("params", place, "default"), fault)
        for id in _listed(default) if known else ():
            if _PLAIN_ID.fullmatch(str(id)) and id not in known:
                yield Finding(("params", place, "default"), f"no {kind} is called {id!r}{did_you_mean(str(id), known)}")
        if isinstance(default, str) and "(" in default and _calls_function(default):
            text = f"{default!r} is the value as it stands: a placeholder is filled in where the parameter is used"
            yield Finding(("params", place, "default"), text)


def _never_found(definitions: Definitions, param: Param, word: Any) -> str | None:
    """Why a look-up that asks nobody finds nothing by a word: it has neither its form nor a meaning of its own."""
    lookup = definitions.get(("lookup", param.get("lookup", "")))
    if lookup is None or not isinstance(word, str) or {"call", "sole", ON} & lookup.table.keys() or "/" in word:
        return None
    pattern = lookup.table.get("pattern", "")
    words = [piece.strip() for piece in word.split(",")] if param.get("split") else [word]
    for each in words if pattern and pattern_fault(pattern) is None else ():
        keywords = [name.casefold() for name in lookup.table.get("keywords", ())]
        if not re.fullmatch(pattern, each) and each.casefold() not in keywords and not each.startswith("id:"):
            near = did_you_mean(each, keywords)
            return f"{lookup.id!r} finds nothing by {each!r}, which has not the form of an id{near}"
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _calls_function(text: str) -> bool:
    """Whether a placeholder in it does, as in `{moment('today', '%Y')}`."""
    with suppress(TemplateError):
        return any("(" in each and expression_fault(each) is None for each in expressions_in_text(text))
    return False


def _word_findings(tables: Mapping[str, Any], params: Params, at: Path) -> Findings:
    """Names of parameters that stand there as words."""
    for key, value in tables.items():
        for path, text in _constants(value):
            if _WHOLE.fullmatch(text):  # a value and nothing else, as nearly all are
                continue
            if text == NEEDED and key == "args":
                yield Finding((*at, key, *path), f"is the word {NEEDED!r}: what columns need is written {{{NEEDED}}}")
            if path[-1:] == (text,) and text in params:
                yield Finding((*at, key, *path), f"is the word {text!r}: the value is written {{{text}}}")
            shown = _SHOWN.fullmatch(text) if key != "result" else None
            is_for_id = shown is not None and path and _NAME_OF_ID.search(str(path[-1]))
            if shown is not None and is_for_id and "lookup" in params.get(shown[1], ()):
                yield Finding((*at, key, *path), f"{text} is how it is shown: {{{shown[1]}}} is its id")
        for text in texts_in(value):
            if _WHOLE.fullmatch(text):
                continue
            yield from (Finding((*at, key), fault) for fault in _brace_faults(text, params, is_body=key == "body"))
            typed = _TYPED.fullmatch(text) if key != "result" else None
            if typed is not None and "lookup" in params.get(typed[1], ()):
                yield Finding((*at, key), f"{text} is the word that was typed: {{{typed[1]}}} is what was found for it")
            if key == "args":
                yield from (Finding((*at, key), fault) for fault in _list_in_text_faults(text, params))


_PLAIN_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def _brace_faults(text: str, params: Params, *, is_body: bool) -> Iterator[str]:
    """Braces as other programs have them. A text of a body may say anything."""
    for found in LITERAL_BRACES.finditer(text):
        if found[1] in params:
            yield f"{found[0]} is that word in braces: a value stands in one pair, {found[0][1:-1]}"
    if is_body and (name := VARIABLE.fullmatch(text)) and name[1] in params:
        yield f"{text} is sent as it stands: the value is written {{{name[1]}}}"
    dollar = _AS_IN_A_SHELL.fullmatch(text) if is_body else _AS_IN_A_SHELL.search(text)
    if dollar is not None and dollar[1] in params:
        yield f"{dollar[0]}: the $ stays in it: a value is written {dollar[0][1:]}"
    if is_body or "$" not in text:
        return
    with suppress(TemplateError):
        words = " ".join(piece for is_expression, piece in split_template(text) if not is_expression)
        for name in (each for each in VARIABLE.findall(words) if each in params):
            yield f"${name} is sent as it stands: a value is written {{{name}}}"


def _list_in_text_faults(text: str, params: Params) -> Iterator[str]:
    """A list or a table is JSON among other words, which no query understands."""
    for name in _AMONG_WORDS.findall(text):
        param: Mapping[str, Any] = params.get(name, {})
        is_list = has_several(param) and REWRITING.isdisjoint(param)
        if is_list or param.get("removes"):
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
    if found is None or kept is None or found is kept:
        return
    if "read" in found.table and {"read", "list", "find"} & kept.table.keys():  # else a further snapshot of the same
        text = f"{keep['of']!r} finds a {found.id}, and the snapshot {kept.id!r} is of another thing"
        yield Finding(("keep", "of"), text)


def _param_alone(value: Any, params: Params) -> Param | None:
    """The parameter whose value a text is, as it is typed."""
    found = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return params.get(found[1]) if found else None


def _is_no_table(param: Param) -> bool:
    converted = TYPE_OF_CONVERTED.get(str(param.get("convert")), _type_of_param(param))
    return converted not in ("", "object")


# Whether what a command compares its parameters with can be their value.


# Their values are lists, tables, or what was found for a word.
_CHANGED = REWRITING | {"lookup", "multiple", "split"}


_FORMS = ("template", "value", "jmespath")  # of texts with expressions
_COMPARING = (b"==", b"!=", b"<", b">")  # without one of these nothing is compared


# Without one of these nothing is looked for in a member that is known beforehand.
_MEMBERS = (b"given.", b"named.", b"site.", b"find", b"removes")
_OF_A_SITE = ("name", "deployment", "journal", *SITE_SETTINGS)  # what the engine says of it
_OF_WHAT_IS_FOUND = ("value", "name")
_OF_A_CHANGE = ("add", "remove")


def expression_findings(definitions: Definitions, command: Definition) -> Findings:
    """Values that a parameter never has; members that nothing has: of what was given, the site, what a step found."""
    text = bytes_of(command.table)
    params = _known_params(command.table) if any(sign in text for sign in _COMPARING) else {}
    members = _known_members(command.table) if any(word in text for word in _MEMBERS) else {}
    members |= _members_of_what_was(definitions, command.table)
    kept = _words_of_what_is_kept(definitions, command.table) if "was" in members else set()
    types = _types_of_params(definitions, command.table) | _types_of_answers(definitions, command.table)
    empty = _names_of_nothing(definitions, command.table)
    always = _always_given(command.table) if b"when" in text else set[str]()
    texts = _lists_of_texts(command.table, types) if "array" in types.values() else set[str]()
    lists = {name: ValueShape({"array"}, item=ValueShape({"string"})) for name in texts}
    for place, expression in _places_of_expressions(command) if params or members or types or empty else ():
        path = place.path
        is_name = place.value.strip("{} ").isidentifier()  # what one types is judged when it is used
        if "gives" in place.schema and not is_name and not giving_fault(place.value, place.schema):
            fault = giving_fault(place.value, place.schema, types)
            yield from [Finding(path, fault)] if fault is not None else []
        yield from (Finding(path, fault) for fault in _deployment_faults(path, expression))
        if path[-1:] == ("when",) and (missing := always & {*names_left_out(expression)}):
            yield Finding(path, f"is never true: {min(missing)!r} is always given")
        if expression.isidentifier():  # a name alone, of which all that follows is true
            continue
        if "ask" not in path and path[-2:] != ("each", "name"):  # those are of what is asked for, and of an item
            yield from (Finding(path, fault) for fault in type_faults(expression, types))
            if lists and "[" in expression:
                for missed in missed_members(expression, lists):
                    if next(hidden_name_faults(expression, {missed.name}), None) is None:  # those are told of filters
                        yield Finding(path, missed.text)
        for (name, *rest), value in comparisons_in(expression) if params else ():
            fault = _fault_for_params(params.get(name, ()), name, value)
            if fault is not None and not rest:
                yield Finding(path, fault)
        for name, *rest in plain_paths(expression) if members or empty else ():
            if rest and name in empty:
                yield Finding(path, f"{name!r} has no {rest[0]!r}: {empty[name]}")
            elif rest and name in members and rest[0] not in members[name]:
                yield Finding(path, f"{name!r} has no {rest[0]!r}{did_you_mean(rest[0], members[name])}")
            elif name == "was" and rest[1:] and kept and rest[1] not in kept:
                yield Finding(path, f"'was.{rest[0]}' has no {rest[1]!r}: say in the args of `keep` that it is kept")
            elif name == "named" and rest[1:]:
                yield Finding(path, f"'named.{rest[0]}' is a text: there is nothing inside")


def _names_of_nothing(definitions: Definitions, table: CommandDefinition) -> dict[str, str]:
    """The answers that have no members, and why, by the names that steps give them."""
    found: dict[str, set[str]] = {}
    for here in (table, *deployment_variants(table).values()):
        for step in _steps_in(here):
            operation = definitions.get(("operation", str(step.get("call"))))
            reply = "" if operation is None or {"hold", "save"} & step.keys() else operation.table.get("reply", "")
            for name in added_by([step]):
                why = f"{step.get('call')} {_NO_MEMBERS[reply]}" if reply in _NO_MEMBERS else ""
                found.setdefault(name, set()).add(why)
    return {name: min(whys) for name, whys in found.items() if all(whys)}


_NO_MEMBERS = {"none": "answers nothing", "binary": "answers the bytes of a file"}


def _members_of_what_was(definitions: Definitions, table: CommandDefinition) -> dict[str, tuple[str, ...]]:
    """What `undo` knows of a thing as it was, where its snapshot says so member by member."""
    named = [each["snapshot"] for each in _kept_by(table)]
    snapshots = [found for id in named if (found := definitions.get(("snapshot", id))) is not None]
    if not snapshots or "was" in {to_identifier(param["name"]) for param in table.get("params", ())}:
        return {}
    states = [here["state"] for each in snapshots for here in (each.table, *deployment_variants(each.table).values())]
    names = [member_names(state) for state in states]
    known = tuple(dict.fromkeys(name for each in names if each is not None for name in each))
    return {} if None in names or "was" in added_by([*_steps_in(table)]) else {"was": known}


def _kept_by(table: CommandDefinition) -> list[Any]:
    each: Iterator[Any] = chain([table], (step.get("each", {}) for step in _steps_in(table)))
    return [here["keep"] for here in each if "keep" in here]


def _words_of_what_is_kept(definitions: Definitions, table: CommandDefinition) -> set[str]:
    """What snapshots ask for that are told which members are wanted, and words of their own; none of any other."""
    found: set[str] = set()
    for keep in _kept_by(table):
        lists = {name: value for name, value in keep.get("args", {}).items() if isinstance(value, list)}
        snapshot = definitions.get(("snapshot", keep["snapshot"]))
        for here in (snapshot.table, *deployment_variants(snapshot.table).values()) if snapshot else ():
            asked = names_in([here.get("args"), here.get("body")])
            if not any(name in asked for name in lists) or any("{" in text for text in texts_in([*lists.values()])):
                return set()
            found.update(re.findall(r"\w+", here["state"]), texts_in([*lists.values()]))
    return found


def _types_of_params(definitions: Definitions, table: Any) -> dict[str, str]:
    """What those are that nothing makes something else of, by the names that expressions have for them."""
    found: dict[str, str] = {}
    hidden: set[str] = set()
    for here in (table, *deployment_variants(table).values()):
        hidden |= added_by([*_steps_in(here)])
        hidden |= {step["each"].get("item", "item") for step in here.get("step", ()) if "each" in step}
        for param in here.get("params", ()):
            word = "string" if is_taken_as_typed(definitions, param) else _type_of_param(param)
            name = to_identifier(param["name"])
            hidden |= {name} if found.setdefault(name, word) != word or not word else set()
    return {name: word for name, word in found.items() if name not in hidden}


def _deployment_faults(path: Path, expression: str) -> Iterator[str]:
    """What is said for one deployment, on the condition that it is another one."""
    if path[:1] == (ON,) and "site.deployment" in expression:
        for name, value in compared_paths(expression, only_equal=True):
            if name == "site.deployment" and value != path[1]:
                yield f"is never so: this is said for {path[1]}"


def _always_given(table: Any) -> set[str]:
    """The parameters that have a value whatever is typed, on each deployment. A text may be typed as nothing."""
    params = [param for here in (table, *deployment_variants(table).values()) for param in here.get("params", ())]
    needed = [param for param in params if param.get("required") and REWRITING.isdisjoint(param) and "ask" not in param]
    needed = [param for param in needed if "lookup" in param or param.get("type") in ("integer", "number")]
    names = {to_identifier(param["name"]) for param in needed}
    return (
        names
        - {to_identifier(param["name"]) for param in params if param not in needed}
        - added_by([*_steps_in(table)])
    )


def _lists_of_texts(table: Any, types: Mapping[str, str]) -> set[str]:
    """The parameters whose values are texts, each of which is what was typed."""
    params = [param for here in (table, *deployment_variants(table).values()) for param in here.get("params", ())]
    others = [param for param in params if param.get("type", "text") != "text" or is_changed(param)]
    listed = {to_identifier(param["name"]) for param in params} - {to_identifier(param["name"]) for param in others}
    return {name for name in listed if types.get(name) == "array"}


def _types_of_answers(definitions: Definitions, table: CommandDefinition) -> dict[str, str]:
    """Those that are lists, by the names that steps give them."""
    found: dict[str, set[bool]] = {}
    tables = (table, *deployment_variants(table).values())
    if not any("step" in here for here in tables):
        return {}
    for here in tables:
        for step in _steps_in(here):
            for name in added_by([step]):
                found.setdefault(name, set()).add(answers_list(definitions, step))
            if "batch" in step:
                found.setdefault("batch", {True})
        for param in here.get("params", ()):
            found |= {name: {False} for name in (to_identifier(param["name"]), *added_by(param.get("step", ())))}
    return {name: "array" for name, are_lists in found.items() if are_lists == {True}}


def _type_of_param(param: Mapping[str, Any]) -> str:
    if param.get("removes"):
        return "object"
    if has_several(param) and REWRITING.isdisjoint(param):
        return "array"
    if is_changed(param):
        return ""
    kinds = {"integer": "number", "number": "number", "duration": "number"}
    return "boolean" if param.get("kind") == "flag" else kinds.get(param.get("type", "text"), "string")


def _known_members(table: CommandDefinition) -> dict[str, tuple[str, ...]]:
    tables = (table, *deployment_variants(table).values())
    params = [param["name"] for here in tables for param in here.get("params", ())]
    given = tuple(map(to_identifier, (*params, *PAGING, *JOURNAL)))
    found = {str(step["as"]) for here in tables for step in _steps_in(here) if "find" in step and "as" in step}
    removing = {
        to_identifier(param["name"]) for here in tables for param in here.get("params", ()) if param.get("removes")
    }
    return {
        **dict.fromkeys(removing - found, _OF_A_CHANGE),
        "given": given,
        "named": given,
        "site": _OF_A_SITE,
        **dict.fromkeys(found, _OF_WHAT_IS_FOUND),
    }


def _steps_in(table: CommandDefinition) -> Iterator[ItemStep]:
    for step in table.get("step", ()):
        yield step
        yield from step.get("each", {}).get("step", ())


def expressions_of(definition: Definition) -> Iterator[tuple[Path, str]]:
    """Those of a whole definition, also in its texts, with their places."""
    yield from ((place.path, expression) for place, expression in _places_of_expressions(definition))


def _places_of_expressions(definition: Definition) -> Iterator[tuple[ShapePlace, str]]:
    for place in shape_places(definition.kind, definition.table, ("format", _FORMS)):
        for expression in _expressions_of_form(place.value, place.schema.get("format")):
            yield place, expression


def _known_params(table: Any) -> dict[str, list[Mapping[str, Any]]]:
    """Those whose values are as they are typed, by the names that expressions have for them."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    hidden: set[str] = set()
    for here in (table, *deployment_variants(table).values()):
        hidden |= added_by(here.get("step", ()))
        for param in here.get("params", ()):
            found.setdefault(to_identifier(param["name"]), []).append(param)
    return {
        name: params
        for name, params in found.items()
        if name not in hidden and not any(key in param for param in params for key in _CHANGED)
    }


def _expressions_of_form(value: Any, form: Any) -> Iterator[str]:
    if isinstance(value, str) and form == "jmespath":
        yield value
    elif isinstance(value, str) and form in _FORMS:
        try:
            yield from expressions_in_text(value)
        except TemplateError:
            return


def _fault_for_params(params: Any, name: str, value: Any) -> str | None:
    """Why no parameter of this name, on any deployment, is ever this value."""
    faults = [_why_never_that_value(param, name, value) for param in params]
    return faults[0] if faults and None not in faults else None


def _why_never_that_value(param: Mapping[str, Any], name: str, value: Any) -> str | None:
    if value is None:
        return None
    if param.get("kind") == "flag":
        return None if isinstance(value, bool) else f"{name!r} is true or false, and never {value!r}"
    if param.get("type") in ("integer", "number"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number else f"{name!r} is a number, and never {value!r}"
    words = param.get("choices")
    if words is None or value in words:
        return None
    return f"{name!r} is never {value!r}{did_you_mean(str(value), words)}"
