"""What a person is asked for where a command lacks a value, and whether the answer fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...client.listed import list_in_answer
from ...durations import parse_typed_duration
from ...errors import CallsheetError, Conflict, NotAllowed, NotFound, UsageError, did_you_mean
from ...jsontext import parse_whole_number
from ...language.parameters import is_required, to_identifier
from ...language.template import Scope, evaluate, fill_template, is_true, to_text
from ...output.clean_text import one_line
from ...registry import REGISTRIES
from ..prompts import keep_text
from ..streams import is_piped, read_all
from .converters import Unknown, edited_text
from .parameter_scope import convert_values, resolve_values

if TYPE_CHECKING:
    from ...language.shape.commands import Ask, Param
    from ..context import Context, ParameterValues
    from ..prompts import Prompts
    from .lookup import Lookups


# A text with fields above it, as a person fills it in: lines `NAME: VALUE` between two dashes, then the text.


_FENCE = "---"
_MOST_VALUES = 20
_HEAD = """\
# Lines that start with # are ignored, and so are fields without a value.
# The text goes below the second line of dashes, as Markdown. An empty file sends nothing.
"""


class FormField(NamedTuple):
    """`values` are those that it takes, where the service says so."""

    name: str
    required: bool = False
    values: Sequence[str] = ()


def form_text(fields: Sequence[FormField]) -> str:
    """What is shown at first: the required fields, then the others."""
    ordered = sorted(fields, key=lambda field: not field.required)
    return f"{_FENCE}\n{_HEAD}{''.join(line for field in ordered for line in _field_lines(field))}{_FENCE}\n\n"


def _field_lines(field: FormField) -> Iterator[str]:
    notes = ["required"] if field.required else []
    if field.values:
        more = ", ..." if len(field.values) > _MOST_VALUES else ""
        notes.append(f"one of: {', '.join(field.values[:_MOST_VALUES])}{more}")
    if notes:
        yield f"# {'; '.join(notes)}\n"
    yield f"{field.name}:\n"


def read_form(text: str, fields: Sequence[FormField]) -> tuple[list[str], str]:
    """`NAME=VALUE` words and the text below. Raises `UsageError` with the line that is wrong."""
    lines = text.split("\n")
    fences = [place for place, line in enumerate(lines) if line.strip() == _FENCE][:2]
    if len(fences) < 2 or any(line.strip() for line in lines[: fences[0]]):
        raise UsageError(f"the fields have to stand between two lines of {_FENCE}, above the text")
    known = {field.name.casefold(): field for field in fields}
    words = [
        _field_word(line, number, known)
        for number, line in enumerate(lines[fences[0] + 1 : fences[1]], fences[0] + 2)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    given = {word.partition("=")[0] for word in words if word}
    lacking = [field.name for field in fields if field.required and field.name not in given]
    if lacking:
        raise UsageError(f"a value is needed for {', '.join(lacking)}")
    return [word for word in words if word], "\n".join(lines[fences[1] + 1 :]).strip("\n")


def _field_word(line: str, number: int, known: dict[str, FormField]) -> str:
    name, colon, value = line.partition(":")
    while colon and name.strip().casefold() not in known and ":" in value:  # a name may hold colons itself
        more, colon, value = value.partition(":")
        name = f"{name}:{more}"
    if not colon:
        raise UsageError(f"line {number}: expected NAME: VALUE, not {line.strip()!r}")
    field = known.get(name.strip().casefold())
    if field is None:
        near = did_you_mean(name.strip(), [each.name for each in known.values()])
        raise UsageError(f"line {number}: no field {name.strip()!r}{near}")
    value = value.strip()
    if value and field.values:
        _check_value(value, field, number)
    return f"{field.name}={value}" if value else ""


def _check_value(value: str, field: FormField, number: int) -> None:
    """One of those that the service names, or several with commas between."""
    known = {each.casefold() for each in field.values}
    if value.casefold() in known:
        return
    for piece in map(str.strip, value.split(",")):
        if piece and piece.casefold() not in known:
            near = did_you_mean(piece, field.values)
            raise UsageError(f"line {number}: {field.name}: unknown value {piece!r}{near}")


# Values that a person at the terminal is asked for, where a command needs them and they were not given.


_NAMES = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"\bword\b")


def asked_parameters(context: Context, params: Sequence[Param], scope: Scope) -> list[Param]:
    """The parameters that are asked for; none where nobody can be."""
    if scope.get("resume") or not context.prompts.can_ask:
        return []
    missing = (param for param in params if scope.get(to_identifier(param["name"])) in (None, [], ""))
    return [param for param in missing if _is_asked(param, scope)]


def _is_asked(param: Param, scope: Scope) -> bool:
    if "ask" not in param:  # the site has had its say: what it does not set is missing
        return is_required(param) or ("setting" in param and param.get("required", param.get("kind") == "argument"))
    return "when" not in param["ask"] or is_true(evaluate(param["ask"]["when"], scope))


def depends_on_parameters(expression: str, params: Sequence[Param]) -> bool:
    """Whether an expression may depend on one of the parameters."""
    names = set(_NAMES.findall(expression))
    return any(to_identifier(param["name"]) in names for param in params)


def ask_for(lookups: Lookups, params: Sequence[Param], asked: Sequence[Param], scope: Scope) -> None:
    """Put the answers into the scope as if they had been given, in the order of the parameters."""
    known = dict(scope)  # with the ids of what was given before: the candidates of a later one may depend on it
    left = list(asked)
    for param in params:
        if param in left:
            left.remove(param)
            if _ask_definition(param).get("editor"):
                _write_in_editor(lookups, params, param, scope, known)
            else:
                _take_answer(lookups, param, scope, known)
        if any(_offered_lookup(lookups.context, later) or "fields" in _ask_definition(later) for later in left):
            _resolve_parameter(lookups, param, scope, known)


def _resolve_parameter(lookups: Lookups, param: Param, scope: Scope, known: Scope) -> None:
    name, lookup = to_identifier(param["name"]), _ask_definition(param).get("lookup")
    known[name] = scope.get(name)
    if known[name] is None:
        return
    if "lookup" in param:
        resolve_values(lookups, [param], known)
    elif lookup is not None and isinstance(known[name], str):
        beside = fill_template(_ask_definition(param).get("sees", {}), known) or {}
        known[name] = lookups.find_candidate(lookup, known[name], {**known, **beside}).value


def ask_plainly(context: Context, params: Sequence[Param], values: ParameterValues) -> None:
    """The same for a builtin, whose values mean nothing before it runs."""
    for param in asked_parameters(context, params, {to_identifier(name): value for name, value in values.items()}):
        words = _asked_words(context.prompts, param)
        values[param["name"]] = words if param.get("multiple") else words[0]


def _take_answer(lookups: Lookups, param: Param, scope: Scope, known: Scope) -> None:
    context = lookups.context
    while True:
        words = _offered_words(lookups, param, known) or _asked_words(context.prompts, param)
        try:
            _put_words(context, param, words, scope)
        except UsageError as error:
            context.prompts.say(error.message)
            continue
        return


def _put_words(context: Context, param: Param, words: list[Any], scope: Scope) -> None:
    """As if the words had been given."""
    name = to_identifier(param["name"])
    scope[name] = words if param.get("multiple") or param.get("split") else words[0]
    scope["given"] = {**scope["given"], name: scope[name]}
    scope["named"] = {**scope["named"], name: ", ".join(map(str, words))}
    convert_values(context, [param], scope)


def _write_in_editor(lookups: Lookups, params: Sequence[Param], param: Param, scope: Scope, known: Scope) -> None:
    """A text from the person's editor, with fields above it. What cannot be used is offered again, and never lost."""
    prompts, fields = lookups.context.prompts, _form_fields(lookups, param, known)
    text = at_first = form_text(fields) if fields else _start_text(lookups, param, known)
    while True:
        text = prompts.edit_text(text, _file_name(param))
        if not text.strip():
            raise UsageError("the text is empty; nothing was sent")
        if text == at_first:
            raise UsageError("the text is as it was; nothing was sent")
        try:
            _use_written(
                lookups, params, param, (read_form(text, fields) if fields else ([], text.strip())), scope, known
            )
        except UsageError as error:
            prompts.say(error.message)
            if not prompts.ask_agreement("Edit it again?"):
                raise UsageError(f"nothing was sent; your text is in {keep_text(text, _file_name(param))}") from None
            continue
        prompts.drafts.append((text, _file_name(param)))
        return


def _use_written(
    lookups: Lookups,
    params: Sequence[Param],
    param: Param,
    written: tuple[list[str], str],
    scope: Scope,
    known: Scope,
) -> None:
    words, text = written
    if text:
        _put_words(lookups.context, param, [_no_file(text)], scope)
    taker = next((each for each in params if each["name"] == _ask_definition(param).get("assign")), None)
    if taker is not None and words:
        name = to_identifier(taker["name"])
        _put_words(lookups.context, taker, [*(scope.get(name) or []), *words], scope)
        resolve_values(lookups, [taker], {**known, name: scope[name]})  # only to see whether they can be used


def _no_file(text: str) -> str:
    """A text, and never the name of a file, or the word for standard input."""
    return f"\n{text}" if text.startswith("@") or text.strip() == "-" else text


def _start_text(lookups: Lookups, param: Param, scope: Scope) -> str:
    """What stands in the editor at first."""
    start = _ask_definition(param).get("start")
    if start is None:
        return ""
    request = lookups.dispatcher.build_request(start["call"], fill_template(start.get("args", {}), scope) or {})
    found = lookups.dispatcher.fetch_answer(start["call"], request)
    of, form_of_it = evaluate(start["value"], found) or "", to_text(fill_template(start["format"], scope))
    before = to_text(fill_template(start.get("before", ""), {**scope, "found": found}))
    return f"{before}{edited_text(lookups.context, {'of': of, 'format': form_of_it})}\n"


def take_piped(context: Context, params: Sequence[Param], scope: Scope) -> None:
    """A text that a person would write in the editor is what somebody pipes in, where nobody can be asked."""
    if scope.get("resume") or not is_piped(context.streams) or context.prompts.can_ask:
        return
    for param in params:
        name = to_identifier(param["name"])
        missing = scope.get(name) in (None, "") and _ask_definition(param).get("editor")
        if missing and "start" not in _ask_definition(param) and _is_asked(param, scope):
            context.note(f"--{param['name']} is read from standard input")
            if text := read_all(context.streams.input).decode(errors="replace").strip():
                scope[name] = _no_file(text)
                scope["given"] = {**scope["given"], name: scope[name]}
            return


def _form_fields(lookups: Lookups, param: Param, scope: Scope) -> list[FormField]:
    """None where the service does not tell them: then the text alone is asked for."""
    ask = _ask_definition(param)
    if "fields" not in ask:
        return []
    required, values = ask.get("required", "`false`"), ask.get("values", "`[]`")
    try:
        return [
            FormField(
                one_line(lookups.candidate_label(ask["fields"], item)),
                is_true(evaluate(required, item)),
                [one_line(to_text(value)) for value in list_in_answer(evaluate(values, item) or [])],
            )
            for item in lookups.all_candidates(ask["fields"], scope)
        ]
    except CallsheetError:
        return []


def _offered_words(lookups: Lookups, param: Param, scope: Scope) -> list[Any]:
    """The word for the candidate that was chosen; none where there are no candidates."""
    offer = _offered_lookup(lookups.context, param)
    if offer is None:
        return []
    ask = _ask_definition(param)
    try:
        names = {**scope, **(fill_template(ask.get("sees", {}), scope) or {})}
        return [lookups.offer_candidates(offer, parameter_question(lookups.context, param), names, ask.get("word"))]
    except CallsheetError:  # what is typed then tells what is wrong
        return []


def _ask_definition(param: Param) -> Ask:
    return param.get("ask", {})


def _offered_lookup(context: Context, param: Param) -> str | None:
    """The lookup whose candidates can be listed before anything is typed."""
    id = _ask_definition(param).get("lookup", param.get("lookup"))
    if id is None:
        return None
    lookup = context.catalog.lookups.get(id)
    lists_all = "every" in lookup or not _WORD.search(str(lookup.get("args", {})))
    return id if "call" in lookup and lists_all else None


def _asked_words(prompts: Prompts, param: Param) -> list[Any]:
    asked = parameter_question(None, param)
    choices = list(REGISTRIES[param["choices_of"]]) if "choices_of" in param else param.get("choices")
    if choices:
        return [choices[prompts.ask_choice(asked, choices)]]
    while True:
        answer = prompts.ask_text(asked)
        try:
            return _typed_words(param, answer)
        except UsageError as error:
            prompts.say(error.message)


def _file_name(param: Param) -> str:
    return f"{param['name']}.md"


def _typed_words(param: Param, answer: str) -> list[Any]:
    """What an option would make of the answer."""
    if not answer:
        raise UsageError("a value is required; press Ctrl-C to cancel")
    if param.get("multiple") and not param.get("split"):
        return answer.split() if param.get("kind") == "argument" else [answer]
    if param.get("split"):
        return [piece for piece in map(str.strip, answer.split(",")) if piece]
    readers = {"integer": parse_whole_number, "number": _number_of_text, "duration": parse_typed_duration}
    read = readers.get(param.get("type", ""))
    value = read(answer) if read else answer
    if value is None:
        raise UsageError(f"{answer!r} is not {'an' if read is parse_whole_number else 'a'} {param.get('type')}")
    return [value]


def _number_of_text(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parameter_question(context: Context | None, param: Param) -> str:
    """What is asked: the parameter's own question, else its name and help."""
    ask = _ask_definition(param)
    if "question" in ask:
        return ask["question"]
    name = param["name"].replace("-", " ")
    if context is not None and param.get("kind") == "argument" and "lookup" in param:
        name = context.catalog.lookups.get(param["lookup"])["title"]
    help = param.get("help", "").partition("; ")[0]
    return f"{name[:1].upper()}{name[1:]}" + (f" ({help})" if help else "")


# What placeholders of a step gave, as the step needs it: an amount, paths, an error. The check sees constants only.


_CODES: dict[str, type[CallsheetError]] = {
    kind.code: kind for kind in (CallsheetError, UsageError, NotFound, Conflict, NotAllowed)
}


def items_of(expression: str, scope: Scope) -> list[Any]:
    """The list that something is done for; an unknown one of a dry run stands for one item. Raises `CallsheetError`."""
    things = evaluate(expression, scope)
    if isinstance(things, Unknown):
        return [things]
    if things is not None and not isinstance(things, list):
        raise CallsheetError(f"{expression} is not a list: {to_text(things)[:100]}")
    return things or []


def item_amount(given: Any) -> int:
    """How many items are read. Raises `UsageError`."""
    number = parse_whole_number(given) if isinstance(given, str) else given
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise UsageError(f"expected a number of items, not {to_text(given)[:100]!r}")
    return number


def file_paths(given: Any) -> list[Any]:
    """Of files to send. Raises `UsageError`."""
    files = given if isinstance(given, list) else [given] if given else []
    for file in files:
        if not isinstance(file, str | Mapping):
            raise UsageError(f"expected the path of a file, not {to_text(file)[:100]!r}")
    return files


def step_failure(code: str | None, text: Any, hint: Any) -> CallsheetError:
    """The error of a step that fails."""
    return _CODES[code or "usage"](to_text(text) or "it failed", hint=to_text(hint) or None)
