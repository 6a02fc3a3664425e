"""Values of a step: converters of arguments and results, bodies over others, and what answers are called."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ... import registry
from ...client.listed import part_of
from ...client.request.http_request import Placeholder
from ...errors import CallsheetError, Conflict, UsageError, did_you_mean
from ...language.scopes import root_names
from ...language.template import Scope, evaluate, fill_template, to_text
from ...richtext import Options, convert_rich_text
from ..context import Typed

if TYPE_CHECKING:
    from ...language.shape.steps import Each, Edit, ItemStep, LookupDefinition, StepDefinition
    from ...richtext.editing import Editing
    from ..context import Context


# What a dry run cannot know: the answer to a request that is not sent.


class Unknown(Placeholder):
    """An answer, or a part of one, under the name it has in the printed commands: `<title of page>`."""

    source: str
    path: tuple[str, ...]

    def __new__(cls, source: str, path: tuple[str, ...] = ()) -> Self:
        text = f"{'.'.join(path)} of {source}" if path else source
        made = super().__new__(cls, f"<{text}>")
        made.source, made.path = source, path
        return made

    def get(self, key: str, _default: Any = None) -> Unknown:
        """A part of it; this is what expressions call."""
        return Unknown(self.source, (*self.path, key))

    def plus(self, other: Any) -> Unknown:
        return Unknown(f"{self[1:-1]} + {other}")


# One value laid over another, table by table, as the `over` of a step says it.


def body_of(step: ItemStep, scope: Scope) -> Any:
    """What a step sends."""
    body = fill_template(step.get("body"), scope)
    for layer in step.get("over", ()):
        body = overlay_values(body, fill_template(layer, scope))
    return body


def overlay_values(under: Any, over: Any) -> Any:
    """`over` laid over `under`, table by table. Nothing is laid over by null, or by a condition that is false.

    Raises `UsageError` for what is no table, where there is one that it would replace.
    """
    if over is None or over is False:
        return under
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **{key: _overlay_inside(under.get(key), value) for key, value in over.items()}}
    if isinstance(under, dict) and not isinstance(over, Unknown):
        raise UsageError(f"expected an object to lay over the body, not {to_text(over)[:100]!r}")
    return over


def _overlay_inside(under: Any, over: Any) -> Any:
    return overlay_values(under, over) if isinstance(under, dict) and isinstance(over, dict) else over


# Which candidates a person means by a word.


class Candidates(NamedTuple):
    """`only` says that the service answered nothing else."""

    items: list[Any]
    only: bool


class Matches(NamedTuple):
    """Several are a question that only the person can answer. What is not `exact` is called something else."""

    items: list[Any]
    exact: bool


def matches_word(lookup: LookupDefinition, word: str, candidates: Candidates) -> Matches:
    """Those of the first expression that has the word as its value, else an only one, else those that contain it.

    Letters count the same in upper and lower case, unless that decides between several.
    """
    folded = word.strip().casefold()
    for expression in match_expressions(lookup):
        found = [item for item in candidates.items if folded in _folded_names(expression, item)]
        same = [item for item in found if word.strip() in candidate_texts(expression, item)]
        if found:
            return Matches(same if len(same) == 1 else found, exact=True)
    if candidates.only and "sole" in lookup:
        sole = [item for item in candidates.items if evaluate(lookup["sole"], _with_word(item, word))]
        if sole:
            return Matches(sole, exact=True)
    return Matches([item for item in candidates.items if contains_word(lookup, word, item)], exact=False)


def contains_word(lookup: LookupDefinition, word: str, item: Any) -> bool:
    folded = word.strip().casefold()
    return any(folded in text for expression in match_expressions(lookup) for text in _folded_names(expression, item))


def match_expressions(lookup: LookupDefinition) -> list[str]:
    """What a lookup compares with the word, in turn."""
    found: list[str] = lookup.get("match", [lookup.get("value", "@")])
    return found


def candidate_texts(expression: str, item: Any) -> list[str]:
    """What an expression finds in a candidate, as texts."""
    value = evaluate(expression, item)
    values = value if isinstance(value, list) else [value]
    return [to_text(item).strip() for item in values if item is not None]


def _folded_names(expression: str, item: Any) -> list[str]:
    return [text.casefold() for text in candidate_texts(expression, item)]


def _with_word(item: Any, word: str) -> dict[str, Any]:
    return {**(item if isinstance(item, dict) else {}), "word": word}


# What a person writes after an option → the value that is sent. Converters are found by their names.


STDIN = ("-", "@-")


def convert_argument(context: Context, name: str, given: str, option: str) -> Any:
    """`given` is the text itself, `@file`, or `-` or `@-` for standard input; `@@` starts a text with an @."""
    return convert_text(context, name, read_text(context, given, option), option)


def convert_text(context: Context, name: str, text: str, option: str) -> Any:
    """What a converter makes of a text that has been read."""
    if name not in registry.CONVERTERS:
        raise UsageError(f"{option}: no format {name!r}{did_you_mean(name, registry.CONVERTERS)}")
    try:
        return registry.resolve_entry(registry.CONVERTERS[name])(context, text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def read_text(context: Context, given: str, option: str) -> str:
    if context.is_literal(given):
        return given
    if given.startswith("@@"):
        return Typed(given[1:])
    if not given.startswith("@") and given != "-":
        return given
    if given.startswith("@[") and not os.path.exists(given[1:]):  # somebody is mentioned
        return given
    file = "standard input" if given in STDIN else given[1:]
    try:
        text = context.read_source(given).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{option}: {file} is not UTF-8: byte {error.start}") from None
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint="write @@ for a text that starts with @") from None
    if not text.strip():  # as a pipe is whose first command failed
        raise UsageError(f"{option}: {file} is empty", hint="give '' for a text that is empty on purpose")
    return Typed(text)


def plain_text(_context: Context, text: str) -> str:
    """The text as it is; `@file` and `@-` are read."""
    return text


def from_json(_context: Context, text: str) -> Any:
    """The value that a JSON text says."""
    from ...jsontext import parse_json

    return parse_json(text)


# A number that may be an id, or the name of something else: a change takes neither until it is clear which.


_SAID = re.compile(r"(id|name):(\d+)")


class Spoken(NamedTuple):
    """A person's word; `kind` is "id" or "name" where they said which, as in `id:10` and `name:10`."""

    word: str
    kind: str = ""


def spoken_number(word: str) -> Spoken:
    said = _SAID.fullmatch(word.strip())
    return Spoken(said[2], said[1]) if said else Spoken(word)


def is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def narrow_lookup(lookup: LookupDefinition, kind: str) -> LookupDefinition:
    """The lookup that compares with ids alone, or with names alone."""
    if not kind:
        return lookup
    every = match_expressions(lookup)
    value = lookup.get("value", every[0] if every else "@")
    chosen = [value] if kind == "id" else [each for each in every if each != value]
    return {**lookup, "match": chosen}


def candidates_called(lookup: LookupDefinition, word: str, items: list[Any]) -> list[Any]:
    """The candidates that have the number as anything they are found by."""
    return [item for item in items if any(word in candidate_texts(each, item) for each in match_expressions(lookup))]


def other_than(lookup: LookupDefinition, id: str, items: list[Any]) -> list[Any]:
    """Those that have another id."""
    return [item for item in items if to_text(evaluate(lookup.get("value", "@"), item)) != id]


def number_hint(word: str) -> str:
    return f"use id:{word} or name:{word}"


# What a person writes after an option, as Markdown → what a service wants.


EDITED = ("storage", "adf")  # formats in which a text is put back into its source
MOST_LINES = 60  # of what somebody else changed


def to_adf(context: Context, text: str) -> Any:
    """Markdown as a document."""
    return _convert_text(context, text, "adf")


def to_storage(context: Context, text: str) -> Any:
    """Markdown as storage XHTML."""
    return _convert_text(context, text, "storage")


def to_wiki(context: Context, text: str) -> Any:
    """Markdown as wiki markup."""
    return _convert_text(context, text, "wiki")


def wiki_of_adf(context: Context, text: str) -> Any:
    """An exact document for a service that takes wiki markup."""
    return _convert_text(context, text, "wiki", source="adf")


def to_markdown(context: Context, text: str) -> str:
    """Markdown for an `edit` step; read here, so that nothing is asked of the service when it is damaged."""
    from ...richtext.markdown.block_reader import read_markdown
    from ...richtext.node_rules import Rules
    from ...richtext.tree import Losses

    rules = Rules(context.rich_text, literal=context.is_foreign(text))
    read_markdown(text, rules, Losses(), beside=getattr(text, "beside", None))
    return text


def edited_text(context: Context, step: Edit) -> Any:
    """What an `edit` step answers: the Markdown of its source, or the source with the changes of its text.

    A source that is not known in a dry run makes the answer unknown. Raises `CallsheetError` where there is none: a
    thing that has no text yet has an empty one.
    """
    source, form, text, section = step.get("of"), step["format"], step.get("text"), step.get("section")
    images, since = step.get("images"), step.get("since")
    if any(isinstance(part, Unknown) for part in (source, text, images, since)):
        name = str(source).strip("<>")
        return Unknown(name if text is None else f"{name}, edited" if source else "the text with its images")
    if source is None:
        raise CallsheetError("unexpected answer from the site: it has no text")
    beside = getattr(text, "beside", None)
    if beside is not None and images:
        beside.addresses = images
    if not source or form not in EDITED:
        if section is not None:
            raise UsageError(f"no heading {section!r}: there is no text yet" if not source else "it has no sections")
        if text is not None:
            return (
                source if source and _is_as_shown(context, source, form, text) else _convert_text(context, text, form)
            )
        return _of_service(context, source, form) if source else ""
    from ...richtext.editing import Editing
    from ...richtext.markdown.front_matter import without_front_matter

    edit = Editing(source, form, context.rich_text, section)
    if text is None:
        return edit.markdown()
    literal = context.is_foreign(text)
    if since is None or since == source:
        result = edit.edited(text, literal=literal, beside=beside)
    elif without_front_matter(text).strip() == edit.markdown().strip():
        result = source  # it says so already: the same file once more, or somebody made the same change
    else:
        before = Editing(since, form, context.rich_text, section)
        if not step.get("merge"):
            raise Conflict(str(step["fail"]), hint=step.get("hint"), details=_text_changes(before, edit))
        result = edit.merged(before, text, literal=literal, beside=beside)
        context.note("kept the changes made in the meantime, and added yours")
    for loss in edit.losses.notes():
        context.note_once(loss)
    return result


def _text_changes(before: Editing, now: Editing) -> list[str]:
    """What became of a text, line by line."""
    import difflib

    old, new = (edit.markdown().splitlines() for edit in (before, now))
    words = {"- ": "removed: ", "+ ": "added: "}
    changed = [line for line in difflib.ndiff(old, new) if line[:2] in words and line[2:].strip()]
    lines = [words[line[:2]] + line[2:] for line in changed]
    more = [f"and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return lines[:MOST_LINES] + more


def _of_service(context: Context, source: Any, form: str) -> str:
    """What a service holds, as Markdown; that it cannot be read is no mistake of the person's."""
    if form != "adf" and not isinstance(source, str):
        raise CallsheetError(f"the answer holds no text in the format {form}")
    try:
        return str(_convert_text(context, source, "markdown", source=form)).rstrip("\n")
    except UsageError as error:
        raise CallsheetError(f"the service's text cannot be read: {error.message}") from None


def _is_as_shown(context: Context, source: str, form: str, text: str) -> bool:
    """Whether a text is the Markdown of its source, which its format cannot say in these words again."""
    shown = convert_rich_text(source, form, "markdown", nodes=context.rich_text).value
    return str(shown).strip() == text.strip()


def _convert_text(context: Context, text: str, target: str, *, source: str = "markdown", lossless: bool = False) -> Any:
    options: Options = {
        "literal": source == "markdown" and context.is_foreign(text),
        "beside": getattr(text, "beside", None),
    }
    done = convert_rich_text(text, source, target, nodes=context.rich_text, lossless=lossless, options=options)
    for loss in done.losses:
        context.note_once(loss)
    return done.value


# What a step is about: the operations that it calls, and what its answer is called further down.


NOT_SENT = object()  # the answer to a request that was printed instead of sent


def step_acts(step: StepDefinition) -> bool:
    return "call" in step or "each" in step


def calls_of(step: StepDefinition, *, certain: bool = False) -> list[str]:
    """The operations that a step calls, for items too; the `certain` ones are called whatever is given."""
    parts: list[ItemStep] = [step, *(step["each"]["step"] if "each" in step else ())]
    return [part["call"] for part in parts if "call" in part and not (certain and "when" in part)]


def item_name(each: Each) -> str:
    return each.get("item", "item")


def answers_of_sent(answers: list[Any]) -> Any:
    """The answers to what was sent; `NOT_SENT` where nothing was."""
    if answers and all(answer is NOT_SENT for answer in answers):
        return NOT_SENT
    return [answer for answer in answers if answer is not NOT_SENT and answer is not None]


def is_open(step: ItemStep, scope: Scope) -> bool:
    """Whether only an answer that a dry run does not have can decide the condition of a step."""
    return "when" in step and any(isinstance(scope.get(name), Unknown) for name in root_names(step["when"]))


def bound_answer(step: ItemStep, answer: Any, scope: Scope) -> dict[str, Any]:
    """What a step's answer is called further down, and its value there; `scope` is what the step itself saw."""
    name = step.get("as")
    if isinstance(name, dict):
        return {key: Unknown(key) if answer is NOT_SENT else part_of(part, answer, scope) for key, part in name.items()}
    return {name: Unknown(name) if answer is NOT_SENT else answer} if name else {}
