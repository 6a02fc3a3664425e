"""Addresses of a site as people copy them from a browser, where an id is expected."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from ...client.listed import list_in_answer
from ...client.request.build import MissingArguments
from ...client.request.json_body import UnfitBody, unfit_body
from ...errors import CallsheetError, NoMatch, UsageError, count_of, did_you_mean
from ...language.merge import on_deployment
from ...language.scopes import looks_at_all, names_in, paths_in, root_names
from ...language.template import (
    Precomputed,
    UnfitValue,
    evaluate,
    expressions_in_text,
    fill_template,
    is_true,
    to_text,
)
from ...urls import url_origin
from . import converters
from .converters import (
    Candidates,
    Unknown,
    candidate_texts,
    contains_word,
    match_expressions,
    matches_word,
    overlay_values,
)
from .dispatcher import StepDispatcher

if TYPE_CHECKING:
    from ...language.shape.steps import Each, ItemStep, KeywordDefinition, LookupDefinition
    from ..context import Context


def is_url(word: str) -> bool:
    return word.lower().startswith(("https://", "http://"))


class InAddress(NamedTuple):
    """What an address names: the id, or else a word that is still to be looked up."""

    word: str
    is_id: bool


def found_in_url(context: Context, url: str, lookup: LookupDefinition) -> InAddress:
    """What one of the lookup's `urls` or `links` finds in an address of the site; raises `UsageError`."""
    rest = below_site(context, url)
    if rest is None:
        raise UsageError(f"{url} is not an address of site {context.site().name!r}", hint="choose the site with --site")
    for pattern in lookup.get("urls", ()):
        if match := re.search(pattern, rest):
            return InAddress(unquote(match[1]), is_id=True)
    for link in lookup.get("links", ()):
        match = re.search(link["url"], rest)
        word = evaluate(link["word"], {"word": unquote(match[1])}) if match else None
        if word is not None:
            return InAddress(to_text(word), is_id=False)
    raise UsageError(f"{url} shows no {lookup['title']}", hint=lookup.get("hint"))


def below_site(context: Context, url: str) -> str | None:
    """Path, query and fragment below the address of one of the site's services; None for another host."""
    for root in sorted(service_addresses(context).values(), key=len, reverse=True):
        own = urlsplit(root).path.rstrip("/")
        parts = urlsplit(url)
        if url_origin(url) == url_origin(root) and (parts.path == own or parts.path.startswith(own + "/")):
            return url[url.index(parts.netloc) + len(parts.netloc) + len(own) :]
    return None


def service_addresses(context: Context) -> dict[str, str]:
    """Service → its address in a browser, for the services the site has."""
    found: dict[str, str] = {}
    for service in context.catalog.services.ids():
        try:
            found[service] = context.site().address(service)
        except CallsheetError:
            continue
    return found


# A call that lacks a parameter, in the words of the person who gave the command.


def explained_body(
    error: UnfitBody, template: Any, scope: Mapping[str, Any], answers: Collection[str]
) -> CallsheetError:
    """The same by the options that fill its members, as far as a person could have given them.

    Where nothing but `answers`, names of the scope, could fill them, the site said something unusual.
    """
    parts = [
        _template_at(template, (*fault.path, *([fault.missing] if fault.missing else [])))[0] for fault in error.faults
    ]
    if all(_only_answers_fill(part, scope, answers) for part in parts):
        looked_at = (path for path in paths_in(parts) if path.partition(".")[0] in answers)
        return UnfitValue("a body", error.message, looked_at)
    texts, known = [], False
    for fault in error.faults:
        option, inside = _option_at(template, (*fault.path, *([fault.missing] if fault.missing else [])), scope)
        known = known or option is not None
        if option is None:
            texts.append(fault.in_words())
        elif fault.missing:
            texts.append(f"{option} is missing")
        else:
            texts.append(fault.in_words(f"{option}: {'.'.join(map(str, inside))}" if inside else option))
    return unfit_body("this command", error.faults, texts, error.hint) if known else error


def _only_answers_fill(part: Any, scope: Mapping[str, Any], answers: Collection[str]) -> bool:
    paths = {path: path.partition(".")[0] in answers for path in paths_in(part)}
    return any(paths.values()) and not any(evaluate(path, scope) for path, answered in paths.items() if not answered)


def _option_at(
    template: Any, path: tuple[str | int, ...], scope: Mapping[str, Any]
) -> tuple[str | None, tuple[str | int, ...]]:
    """The option whose value stands at a place of a body, and the rest of the path, which is inside of it."""
    template, rest = _template_at(template, path)
    if not isinstance(template, str):
        return None, rest
    given = [name for name in names_in(template) if name in scope.get("given", {})]
    return (f"--{given[0].replace('_', '-')}" if len(set(given)) == 1 else None), rest


def _template_at(template: Any, path: tuple[str | int, ...]) -> tuple[Any, tuple[str | int, ...]]:
    """The part of a template that fills a place of a body, and the rest of the path, which is inside of it."""
    while path and isinstance(template, Mapping) and path[0] in template:
        template, path = template[path[0]], path[1:]
    return template, path


def explain_missing_arguments(
    error: MissingArguments, arguments: Mapping[str, Any], scope: Mapping[str, Any], what: str
) -> CallsheetError:
    """What was not given, where an argument's template names it; else what an answer did not tell.

    `what` is done with it. An error that no template explains stays as it is.
    """
    templates = [arguments[name] for name in error.names if name in arguments]
    names = list(dict.fromkeys(name for template in templates for name in names_in(template)))
    given = scope.get("given", {})
    lacking = [f"--{name.replace('_', '-')}" for name in names if name in given and scope.get(name) is None]
    if lacking:
        return UsageError(f"{what} needs {' and '.join(lacking)}")
    if any(name in scope for name in names):
        missing = ", ".join(" or ".join(paths_in(template)) for template in templates)
        return CallsheetError(f"unexpected answer from the site: it has no {missing}, which {what} needs")
    return error


# A person's word → the id that the service wants.


_LISTED = 10
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Match(NamedTuple):
    """The id, how what was found is called, and the candidate it was taken from where there was one."""

    value: Any
    name: str
    item: Any = None


class Lookups:
    """The lookups of one run; a candidate list is asked for once. An `exact` run never takes a name for another."""

    def __init__(self, context: Context, wire: StepDispatcher, *, exact: bool) -> None:
        self.context = context
        self.dispatcher = wire
        self.exact = exact
        self._answers: dict[str, Any] = {}
        self._definitions: dict[str, LookupDefinition] = {}
        self._chosen: dict[tuple[str, str], Match] = {}  # what a person chose in a menu, by lookup and label

    def lookup_definition(self, id: str) -> LookupDefinition:
        if id not in self._definitions:
            found = self.context.catalog.lookups.get(id)
            self._definitions[id] = on_deployment(found, self.context.site().deployment)
        return self._definitions[id]

    def resolve_word(self, id: str, word: str, scope: Mapping[str, Any]) -> Any:
        return self.find_candidate(id, word, scope).value

    def find_candidate(self, id: str, word: str, scope: Mapping[str, Any]) -> Match:
        """Raises `UsageError` naming the candidates when none, or several, match."""
        lookup = self.lookup_definition(id)
        foreign = self.context.is_foreign(word)
        word, kind = converters.Spoken(word) if foreign else converters.spoken_number(word)
        if (chosen := self._chosen.get((id, word))) is not None:
            return chosen
        if not word.strip():
            raise UsageError(f"{word!r} is not a valid {lookup['title']}", hint=lookup.get("hint"))
        keyword = _matching_keyword(lookup, word)
        if keyword is not None:
            return self._of_keyword(lookup, keyword, word, scope)
        if is_url(word) and not foreign:
            word, is_id = found_in_url(self.context, word, lookup)
            if is_id:
                return Match(word, word)
        if kind != "name" and "pattern" in lookup and (found := re.fullmatch(lookup["pattern"], word)):
            id = found.groupdict().get("id", word)
            doubtful = self.exact and not kind and converters.is_number(word)
            return Match(id, self._sure_of(lookup, word, id, scope) if doubtful else word)
        if "call" not in lookup:
            raise UsageError(f"{word!r} is not a valid {lookup['title']}", hint=lookup.get("hint"))
        candidates = self._read_candidates(lookup, {**scope, "word": word})
        if candidates is None:
            return Match(_unknown_value(lookup.get("value", "@"), lookup, word), word)
        return self._choose_match(converters.narrow_lookup(lookup, kind), word, candidates, clear=bool(kind))

    def offer_candidates(self, id: str, question: str, scope: Mapping[str, Any], word: str | None) -> str:
        """The word for the candidate that a person chooses in a menu: `word` of it, else its label.

        Raises `CallsheetError` where there are no candidates.
        """
        lookup = self.lookup_definition(id)
        items = self.all_candidates(id, scope)
        if not items:
            raise CallsheetError(f"there is no {lookup['title']} to choose")
        item = self._pick_candidate(lookup, question, items)
        label = _label_of_item(lookup, item)
        self._chosen[id, label] = Match(_candidate_id(lookup.get("value", "@"), lookup, label, item), label, item)
        return to_text(evaluate(word, item)) if word else label

    def all_candidates(self, id: str, scope: Mapping[str, Any]) -> list[Any]:
        """Every candidate, whatever its name."""
        lookup = self.lookup_definition(id)
        listing: LookupDefinition = {**lookup, "args": lookup.get("every", lookup.get("args", {}))}
        candidates = self._read_candidates(listing, scope)
        return candidates.items if candidates else []

    def listed_candidates(self, id: str, scope: Mapping[str, Any]) -> list[str]:
        """A line that names what there is to choose from; none where that cannot be asked, or nothing is there."""
        try:
            items = self.all_candidates(id, scope)
        except CallsheetError:  # what is to be told is another error
            return []
        return _available_labels(self.lookup_definition(id), items)

    def candidate_label(self, id: str, item: Any) -> str:
        """What a candidate is called, without its id."""
        lookup = self.lookup_definition(id)
        return to_text(evaluate(lookup.get("label", lookup.get("value", "@")), item))

    def _pick_candidate(self, lookup: LookupDefinition, question: str, items: list[Any]) -> Any:
        return items[self.context.prompts.ask_choice(question, [_label_of_item(lookup, item) for item in items])]

    def _of_keyword(
        self, lookup: LookupDefinition, keyword: KeywordDefinition, word: str, scope: Mapping[str, Any]
    ) -> Match:
        if "call" not in keyword:
            return Match(None, word)
        answer = self._ask_service(keyword, {**scope, "word": word}, lookup["title"])
        value = keyword.get("value", lookup.get("value", "@"))
        if answer is None:
            return Match(_unknown_value(value, lookup, word), word)
        if answer == []:
            raise CallsheetError(f"no {lookup['title']} is {word}", hint=lookup.get("hint"))
        return Match(
            _candidate_id(value, lookup, word, answer),
            _label_of_item({**lookup, "value": value}, answer) or word,
            answer,
        )

    def _read_candidates(self, lookup: LookupDefinition, scope: Mapping[str, Any]) -> Candidates | None:
        answer = self._ask_service(lookup, scope, lookup["title"])
        if answer is None:
            return None
        items = list_in_answer(evaluate(lookup["items"], answer) if "items" in lookup else answer, lookup.get("items"))
        where = lookup.get("where")
        return Candidates([item for item in items if where is None or evaluate(where, item)], len(items) == 1)

    def _sure_of(self, lookup: LookupDefinition, word: str, id: str, scope: Mapping[str, Any]) -> str:
        """How the thing with this id is called; raises `UsageError` where another one is called by the number.

        Without a list (the board of a sprint was not said, for one) the number is the id. Nor is one read where the
        call answers nothing but the thing with this id.
        """
        scope = {**scope, "word": word}
        if "call" not in lookup or "sole" in lookup or not self._is_listed(lookup, scope):
            return word
        try:
            candidates = self._read_candidates(lookup, scope)
        except CallsheetError as error:
            error.hint = error.hint or f"with id:{word} it is not asked whether something is called {word}"
            raise
        items = candidates.items if candidates else []
        own = [_label_of_item(lookup, item) for item in items if not converters.other_than(lookup, id, [item])]
        others = converters.other_than(lookup, id, converters.candidates_called(lookup, word, items))
        if others:
            listed = (own or [f"the {lookup['title']} with the id {id}"]) + [
                _label_of_item(lookup, item) for item in others
            ]
            raise _several_error(lookup, word, listed, converters.number_hint(word))
        return own[0] if own else word

    def _is_listed(self, lookup: LookupDefinition, scope: Mapping[str, Any]) -> bool:
        try:
            self.dispatcher.build_request(lookup["call"], fill_template(lookup.get("args", {}), scope) or {})
        except UsageError:
            return False
        return True

    def _choose_match(self, lookup: LookupDefinition, word: str, candidates: Candidates, *, clear: bool) -> Match:
        """`clear`: the person said whether a number is an id or a name."""
        matching = matches_word(lookup, word, candidates)
        value = lookup.get("value", "@")
        found = matching.items
        hint = f"use the full name, or the {_CAPITAL.sub(' ', lookup.get('value', 'id')).lower()}"
        if self.exact and converters.is_number(word) and not clear:
            found, hint = (
                converters.candidates_called(lookup, word, candidates.items) or found,
                converters.number_hint(word),
            )
        by_value = {to_text(evaluate(value, item)): item for item in found}
        may_take = matching.exact or (not self.exact and bool(lookup.get("partial")))
        if by_value and (len(by_value) > 1 or not may_take) and self.context.prompts.can_ask:
            item = self._ask_which(lookup, word, list(by_value.values()))
        elif len(by_value) > 1:
            raise _several_error(lookup, word, [_label_of_item(lookup, item) for item in by_value.values()], hint)
        else:
            item = next(iter(by_value.values())) if may_take and by_value else None
            if item is not None and not matching.exact:
                self.context.note(f'no {lookup["title"]} is called "{word}"; using {_label_of_item(lookup, item)}')
        if item is None:
            raise _none_error(lookup, word, candidates.items)
        name = _label_of_item(lookup, item)
        return Match(_candidate_id(value, lookup, word, item), name, item)

    def _ask_which(self, lookup: LookupDefinition, word: str, items: list[Any]) -> Any:
        """The one that a person means; None where the only one is refused."""
        if len(items) > 1:
            return self._pick_candidate(lookup, f'Which {lookup["title"]}? {len(items)} match "{word}"', items)
        question = f'No {lookup["title"]} is called "{word}". Use {_label_of_item(lookup, items[0])}?'
        return items[0] if self.context.prompts.ask_agreement(question) else None

    def _ask_service(self, table: LookupDefinition | KeywordDefinition, scope: Mapping[str, Any], title: str) -> Any:
        """Every page: before the last one nobody can say that nothing, or only one thing, has a name.

        None in a dry run that does not ask.
        """
        arguments = fill_template(table.get("args", {}), scope) or {}
        try:
            request = self.dispatcher.build_request(table["call"], arguments)
        except MissingArguments as error:
            what = f"finding a {title} by its name"
            raise explain_missing_arguments(error, table.get("args", {}), scope, what) from None
        if self.dispatcher.held_back(request, final=False):
            self.dispatcher.print_curl(table["call"], request)
            return None
        key = request.method + request.url
        if key not in self._answers:
            self._answers[key] = self.dispatcher.fetch_everything(table["call"], request)
        if self._answers[key] is None:  # which above says that nobody was asked
            raise CallsheetError(f"unexpected answer from the site: it has no {title}")
        return self._answers[key]


def _candidate_id(expression: str, lookup: LookupDefinition, word: str, item: Any) -> Any:
    """What a request can name a thing by: a text or a number, or the whole thing (`@`).

    Raises `CallsheetError` for an answer that does not hold it.
    """
    found = evaluate(expression, item)
    if expression == "@":
        return found
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise CallsheetError(f'the answer for "{word}" has no {expression} to identify the {lookup["title"]} by')
    return found


def _unknown_value(value: str, lookup: LookupDefinition, word: str) -> Unknown:
    """What a dry run shows, as in `<accountId of "Robin Sample">`."""
    return Unknown(f'{lookup["title"] if value == "@" else value} of "{word}"')


def _matching_keyword(lookup: LookupDefinition, word: str) -> KeywordDefinition | None:
    for name, keyword in lookup.get("keywords", {}).items():
        if name.casefold() == word.strip().casefold():
            return keyword
    return None


def is_other(lookup: LookupDefinition, word: str) -> bool:
    """Whether a name would be taken for something else: a word of the lookup's own, an address, or an id."""
    if word.strip().casefold() in {name.casefold() for name in lookup.get("keywords", ())}:
        return True
    return is_url(word) or bool(converters.spoken_number(word).kind)


def _label_of_item(lookup: LookupDefinition, item: Any) -> str:
    value = to_text(evaluate(lookup["value"], item)) if "value" in lookup else ""
    label = to_text(evaluate(lookup["label"], item)) if "label" in lookup else ""
    return f"{label} ({value})" if value and label and label != value else label or value


def _several_error(lookup: LookupDefinition, word: str, labels: list[str], hint: str) -> UsageError:
    return UsageError(f'"{word}" matches {count_of(len(labels), lookup["title"])}: {_join_labels(labels)}', hint=hint)


def _none_error(lookup: LookupDefinition, word: str, candidates: list[Any]) -> NoMatch:
    if candidates and not any(
        text for read in match_expressions(lookup) for item in candidates for text in candidate_texts(read, item)
    ):
        from ...language.functions import fields_in_words

        compared = fields_in_words(match_expressions(lookup)) or "a text"
        return NoMatch(f'no {lookup["title"]} matches "{word}": none has {compared}, by which they are compared')
    near_first = sorted(candidates, key=lambda item: not contains_word(lookup, word, item))
    names = [
        text
        for read in [lookup.get("label", "@"), *match_expressions(lookup)]
        for item in candidates
        for text in candidate_texts(read, item)
    ]
    names = [name for name in names if not name.isdecimal()]  # a number is an id, and not nearly another one
    message = f'no {lookup["title"]} matches "{word}"{did_you_mean(word, names)}'
    return NoMatch(message, details=_available_labels(lookup, near_first), hint=lookup.get("hint"))


def _available_labels(lookup: LookupDefinition, items: list[Any]) -> list[str]:
    return [f"available: {_join_labels([_label_of_item(lookup, item) for item in items])}"] if items else []


def _join_labels(labels: list[str]) -> str:
    more = f"; and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    return "; ".join(labels[:_LISTED]) + more


# Steps for many items, with what is the same for all of them worked out once.
#
# An expression that looks at nothing of the item has one value for the whole run: only the others stay as they are.


_MANY = 20
_TEMPLATES = ("args", "body", "files")
_OWN_SCOPE = {"batch", "on_conflict"}  # keys of steps whose templates are filled over other scopes, too


def precompute_each(each: Each, scope: Mapping[str, Any], count: int, *names: str) -> Each:
    """The steps for so many items, as they are where it would not be worth the work.

    `names` are those that are different for each item, beside what its own steps are called. A step that is left out
    for all items gives its names to none.
    """
    if count < _MANY:
        return each
    changing = set(names)
    steps: list[ItemStep] = []
    for step in each["step"]:
        steps.append(found := _settled_step(step, scope, changing))
        if not _is_left_out(found):
            changing.update(_names_given(step))
    return {**each, "step": steps}


def _names_given(step: ItemStep) -> Iterable[str]:
    """What the answer of a step is called in those behind it."""
    given = step.get("as", ())
    return [given] if isinstance(given, str) else given


def _is_left_out(step: ItemStep) -> bool:
    when: Any = step.get("when")
    return isinstance(when, Precomputed) and not when.value


def _settled_step(step: ItemStep, scope: Mapping[str, Any], changing: set[str]) -> ItemStep:
    found: dict[str, Any] = {**step}
    if "when" in found and "fail" not in found and not _depends_on_changing(found["when"], changing):
        with suppress(CallsheetError):  # it is told of the item that meets it
            found["when"] = Precomputed(is_true(evaluate(found["when"], scope)))
    if _OWN_SCOPE & step.keys():
        return cast("ItemStep", found)
    for key in _TEMPLATES:
        if key in found:
            found[key] = precompute_value(found[key], scope, changing)
    if "over" in found:
        found["over"] = [precompute_value(layer, scope, changing) for layer in found["over"]]
        _lay_over(found)
    return cast("ItemStep", found)


def _lay_over(step: dict[str, Any]) -> None:
    """The layers that do not change become one with a body that does not."""
    body = step.get("body", Precomputed(None))
    while step["over"] and isinstance(body, Precomputed) and isinstance(step["over"][0], Precomputed):
        try:
            body = Precomputed(overlay_values(body.value, step["over"][0].value))
        except CallsheetError:  # it is told of the item that meets it
            return
        step["body"], step["over"] = body, step["over"][1:]


def condition_holds_here(condition: str | Precomputed, scope: Mapping[str, Any]) -> bool:
    """Whether a condition of a step is true, which may be `Precomputed`."""
    return bool(condition.value) if isinstance(condition, Precomputed) else is_true(evaluate(condition, scope))


def precompute_value(value: Any, scope: Mapping[str, Any], changing: set[str]) -> Any:
    """A template whose parts that do not change are `Precomputed`; so is the whole where all of them are."""
    if isinstance(value, str):
        return _settled_text(value, scope, changing)
    if isinstance(value, Mapping):
        table = {key: precompute_value(item, scope, changing) for key, item in value.items()}
        return (
            Precomputed(fill_template(table, scope))
            if all(isinstance(item, Precomputed) for item in table.values())
            else table
        )
    if isinstance(value, list):
        items = [precompute_value(item, scope, changing) for item in value]
        return (
            Precomputed(fill_template(items, scope)) if all(isinstance(item, Precomputed) for item in items) else items
        )
    return Precomputed(value)


def _settled_text(text: str, scope: Mapping[str, Any], changing: set[str]) -> Any:
    try:
        if changing.intersection(names_in(text)) or any(map(looks_at_all, expressions_in_text(text))):
            return text
        return Precomputed(fill_template(text, scope))
    except CallsheetError:
        return text


def _depends_on_changing(expression: str, changing: set[str]) -> bool:
    return looks_at_all(expression) or bool(changing.intersection(root_names(expression)))
