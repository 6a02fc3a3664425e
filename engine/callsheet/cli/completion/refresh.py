"""The process in the background that asks a site for words.

It is a run that only reads: rules of the policy hold, nobody is asked, nothing is printed, and it ends after a while.
"""

from __future__ import annotations

import io
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...client.listed import list_in_answer
from ...commands.context import Context
from ...commands.execute import Extent
from ...commands.steps.dispatcher import StepDispatcher
from ...commands.steps.lookup import Lookups, is_other
from ...commands.streams import Streams
from ...errors import CallsheetError, UsageError
from ...files import locked_file
from ...language.parameters import to_identifier
from ...language.template import TemplateError, evaluate, fill_template, to_text
from ...policy.policy import read_only
from ...registry import SITE_SETTINGS
from ...sites.credentials.keychain import key_store_is_silent
from ...terminal import escape_line
from .site_words import Words, cache_of, is_off, suggested_words

if TYPE_CHECKING:
    from ...language.shape.steps import ListedWords

_MOST = 500  # words of a list
_LONGEST = 120  # characters of a word
_LONGEST_HELP = 60
_ASKED = 1 << 16  # bytes
_LIFETIME = 30.0  # seconds, waiting for another one and for the site included
_PATIENCE = 10.0


def refresh_words(context: Context) -> int:
    """Do what standard input says, one process at a time for each site; the exit code."""
    end = threading.Timer(_LIFETIME, os._exit, (1,))
    end.daemon = True
    end.start()
    with suppress(AttributeError, OSError):
        os.nice(10)
    try:
        asked = json.loads(context.streams.input.read(_ASKED))
        _refresh_site(context, asked)
    except (CallsheetError, TemplateError, OSError, ValueError, KeyError, TypeError):
        return 1
    finally:
        end.cancel()
    return 0


def _refresh_site(parent: Context, asked: Mapping[str, Any]) -> None:
    silent = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    restrictions = [read_only("completion"), *parent.restrictions]
    context = Context(parent.program, parent.environ, silent, restrictions=restrictions, ask_person=lambda _: None)
    try:
        if asked["site"]:
            context.options["site"] = asked["site"]
        context.options["timeout"] = _PATIENCE
        site = context.site()
        cache = cache_of(context, site)
        key = [asked["lookup"], asked["needed"]]
        with locked_file(os.path.join(cache.directory, "refresh"), _LIFETIME):
            entry = cache.read_words(key)
            if (entry is None or not entry.fresh) and not is_off(context, site):
                cache.write_words(key, words_of(context, asked))
    finally:
        context.close()


def words_of(context: Context, asked: Mapping[str, Any]) -> Words:
    """Raises `CallsheetError` where the site does not tell, and `NotAllowed` where a key store would ask a person."""
    site = context.site()
    table = suggested_words(context.catalog, asked["lookup"], site.deployment)
    if table is None:
        raise UsageError("this lookup has nothing to list")
    dispatcher = StepDispatcher(context)
    if dispatcher.safety_of(table["call"]) != "read":
        raise UsageError("completion only uses operations that read")
    if site.place_of_secret(dispatcher.builder.operation_call(table["call"]).service) == "key store":
        key_store_is_silent()
    lookups = Lookups(context, dispatcher, exact=False)
    settings = {name: site.default_of(name) for name in SITE_SETTINGS}
    scope: dict[str, Any] = {"site": {"deployment": site.deployment, **settings}}
    known = {each["name"]: each["lookup"] for each in asked["params"]}
    for name, word in asked["needed"].items():
        lookup = known.get(name)
        scope[to_identifier(name)] = lookups.resolve_word(lookup, word, scope) if lookup else word
    request = dispatcher.build_request(table["call"], fill_template(table.get("args", {}), scope) or {})
    answer = dispatcher.fetch_answer(table["call"], request, Extent(most=_MOST))
    items = list_in_answer(evaluate(table["items"], answer) if "items" in table else answer)
    return list(_unambiguous_words(table, items))[:_MOST]


def _unambiguous_words(table: ListedWords, items: list[Any]) -> Iterator[tuple[str, str]]:
    """Those that mean one thing, and nothing else than a name. Where two things have a name, their ids are given."""
    rows = [row for item in items if (row := _word_row(table, item)) is not None]
    times: dict[str, set[str]] = {}
    for word, id, _ in rows:
        times.setdefault(word, set()).add(id)
    for word, id, help in dict.fromkeys(rows):
        chosen, about = (word, help) if len(times[word]) == 1 else (id, word)
        if _is_fit(chosen) and not is_other(table, chosen) and (chosen == id or not _is_id(table, chosen)):
            yield chosen, escape_line(" ".join(about.split()))[:_LONGEST_HELP]


def _word_row(table: ListedWords, item: Any) -> tuple[str, str, str] | None:
    if "where" in table and not evaluate(table["where"], item):
        return None
    word = to_text(evaluate(table["word"], item))
    id = to_text(evaluate(table["value"], item)) if "value" in table else word
    label = to_text(evaluate(table["label"], item)) if "label" in table else ""
    return word, id, label if label != word else ""


def _is_fit(word: str) -> bool:
    """Whether a word can stand on a line: one that is no option and no file, of signs that can be seen."""
    plain = word == word.strip() and word.isprintable() and escape_line(word) == word
    return bool(word) and plain and len(word) <= _LONGEST and word[0] not in "-@"


def _is_id(table: ListedWords, word: str) -> bool:
    """Whether the lookup takes a name for an id, without looking for it."""
    return "pattern" in table and re.fullmatch(table["pattern"], word) is not None
