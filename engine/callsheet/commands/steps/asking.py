"""Values that a person at the terminal is asked for, where a command needs them and they were not given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...durations import parsed
from ...errors import CallsheetError, UsageError
from ...integers import whole
from ...language.identifier import identifier
from ...language.parameters import is_required
from ...language.template import evaluate, fill, is_true
from ...registry import REGISTRIES
from ..prompts.editor import kept
from .scope import convert_values, resolve_values

if TYPE_CHECKING:
    from ...language.shape.asking import Ask
    from ...language.shape.commands import Param
    from ..context import Context
    from ..prompts.prompts import Prompts
    from .lookup import Lookups

_NAMES = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"\bword\b")


def wanted(context: Context, params: Sequence[Param], scope: dict[str, Any]) -> list[Param]:
    """The parameters that are asked for; none where nobody can be."""
    if scope.get("resume") or not context.prompts.possible:
        return []
    missing = (param for param in params if scope.get(identifier(param["name"])) in (None, [], ""))
    return [param for param in missing if _is_asked(param, scope)]


def _is_asked(param: Param, scope: dict[str, Any]) -> bool:
    if "ask" not in param:
        return is_required(param)
    return "when" not in param["ask"] or is_true(evaluate(param["ask"]["when"], scope))


def mentions(expression: str, params: Sequence[Param]) -> bool:
    """Whether an expression may depend on one of the parameters."""
    names = set(_NAMES.findall(expression))
    return any(identifier(param["name"]) in names for param in params)


def ask_for(lookups: Lookups, params: Sequence[Param], asked: Sequence[Param], scope: dict[str, Any]) -> None:
    """Put the answers into the scope as if they had been given, in the order of the parameters."""
    known = dict(scope)  # with the ids of what was given before: the candidates of a later one may depend on it
    left = list(asked)
    for param in params:
        name = identifier(param["name"])
        if param in left:
            left.remove(param)
            _take(lookups, param, scope, known)
        if any(_offer(lookups.context, later) for later in left) and scope.get(name) is not None:
            known[name] = scope[name]
            resolve_values(lookups, [param], known)


def ask_plainly(context: Context, params: Sequence[Param], values: dict[str, Any]) -> None:
    """The same for a builtin, whose values mean nothing before it runs."""
    for param in wanted(context, params, {identifier(name): value for name, value in values.items()}):
        words = _words(context.prompts, param)
        values[param["name"]] = words if param.get("multiple") else words[0]


def _take(lookups: Lookups, param: Param, scope: dict[str, Any], known: dict[str, Any]) -> None:
    name, context = identifier(param["name"]), lookups.context
    while True:
        words = _offered(lookups, param, known) or _words(context.prompts, param)
        listed = param.get("multiple") or param.get("split")
        scope[name] = words if listed else words[0]
        scope["given"] = {**scope["given"], name: scope[name]}
        scope["named"] = {**scope["named"], name: ", ".join(map(str, words))}
        try:
            convert_values(context, [param], scope)
        except UsageError as error:
            context.prompts.say(error.message)
            _keep(context, param, words)
            continue
        return


def _keep(context: Context, param: Param, words: list[Any]) -> None:
    """A text from an editor is not lost because it could not be read."""
    if _ask(param).get("editor"):
        context.prompts.say(f"your text is in {kept(words[0], _file(param))}")


def _offered(lookups: Lookups, param: Param, scope: dict[str, Any]) -> list[Any]:
    """The word for the candidate that was chosen; none where there are no candidates."""
    offer = _offer(lookups.context, param)
    if offer is None:
        return []
    ask = _ask(param)
    try:
        names = {**scope, **(fill(ask.get("sees", {}), scope) or {})}
        return [lookups.offered(offer, question(lookups.context, param), names, ask.get("word"))]
    except CallsheetError:  # what is typed then tells what is wrong
        return []


def _ask(param: Param) -> Ask:
    return param.get("ask", {})


def _offer(context: Context, param: Param) -> str | None:
    """The lookup whose candidates can be listed before anything is typed."""
    id = _ask(param).get("lookup", param.get("lookup"))
    if id is None:
        return None
    lookup = context.catalog.get("lookup", id)
    lists_all = "every" in lookup or not _WORD.search(str(lookup.get("args", {})))
    return id if "call" in lookup and lists_all else None


def _words(prompts: Prompts, param: Param) -> list[Any]:
    asked = question(None, param)
    choices = list(REGISTRIES[param["choices_of"]]) if "choices_of" in param else param.get("choices")
    if choices:
        return [choices[prompts.choose(asked, choices)]]
    if _ask(param).get("editor"):
        return [_text(prompts, param)]
    while True:
        answer = prompts.text(asked)
        try:
            return _typed(param, answer)
        except UsageError as error:
            prompts.say(error.message)


def _text(prompts: Prompts, param: Param) -> str:
    text = prompts.edit("", _file(param)).strip()
    if not text:
        raise UsageError("the text is empty; nothing was sent")
    return text


def _file(param: Param) -> str:
    return f"{param['name']}.md"


def _typed(param: Param, answer: str) -> list[Any]:
    """What an option would make of the answer."""
    if not answer:
        raise UsageError("a value is needed; Ctrl-C ends without sending anything")
    if param.get("multiple") and not param.get("split"):
        return answer.split() if param.get("kind") == "argument" else [answer]
    if param.get("split"):
        return [piece for piece in map(str.strip, answer.split(",")) if piece]
    readers = {"integer": whole, "number": _number, "duration": parsed}
    read = readers.get(param.get("type", ""))
    value = read(answer) if read else answer
    if value is None:
        raise UsageError(f"{answer!r} is not {'an' if read is whole else 'a'} {param.get('type')}")
    return [value]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def question(context: Context | None, param: Param) -> str:
    """What is asked: the parameter's own question, else its name and help."""
    ask = _ask(param)
    if "question" in ask:
        return ask["question"]
    name = param["name"].replace("-", " ")
    if context is not None and param.get("kind") == "argument" and "lookup" in param:
        name = context.catalog.get("lookup", param["lookup"])["title"]
    help = param.get("help", "").partition("; ")[0]
    return f"{name[:1].upper()}{name[1:]}" + (f" ({help})" if help else "")
