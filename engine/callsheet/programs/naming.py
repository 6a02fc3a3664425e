"""Names of operations as a person would call them: verbs, nouns, names of programs."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError

if TYPE_CHECKING:
    from ..language.shape.rest import OperationDefinition


# Words of an API as words of a command line, and one thing out of many: `petId` → `pet-id`, `statuses` → `status`.


_CHECKER = "typeguard"
_SINGULAR = re.compile(r"(?:ss|us|is)$")  # analysis, bus, address: never many


@cache
def command_word(text: str) -> str:
    """A name of an API as a word of a command line: `petId` → `pet-id`, `Pets & co` → `pets-co`."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3-\2\4", text)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")


class Nouns:
    """`unchanging` are words that look like many and are not."""

    def __init__(self, unchanging: Collection[str] = ()) -> None:
        self._unchanging = frozenset(unchanging)
        self.singular = cache(self.singular)  # type: ignore[method-assign]  # an API has few words, each many times

    def singular(self, name: str) -> str:
        """One of what a word names; a word of one thing as it is. Of several words the last one counts."""
        before, hyphen, last = name.rpartition("-")
        if not last.endswith(("s", "ren", "people", "men")) or last in self._unchanging or _SINGULAR.search(last):
            return name
        found = _inflect_engine().singular_noun(last)
        return f"{before}{hyphen}{found}" if found else name

    def are_same(self, one: str, other: str) -> bool:
        return one == other or self.singular(one) == self.singular(other)


@cache
def _inflect_engine() -> Any:
    with _without_checker():
        from inflect import engine

    return engine()


@contextmanager
def _without_checker() -> Iterator[None]:
    """The library has its own arguments checked, which takes it a second to prepare and this has no use for."""
    if _CHECKER in sys.modules:
        yield
        return
    unchecked = ModuleType(_CHECKER)
    unchecked.typechecked = lambda function: function  # type: ignore[attr-defined]
    sys.modules[_CHECKER] = unchecked
    try:
        yield
    finally:
        del sys.modules[_CHECKER]


# What the commands for the operations of an API are called: the words of the path, and a verb that says what is
# done.
#
# The path comes first: `GET /customers/{id}/sources` is `customers sources list`. A verb in the path is the verb
# (`/orders/{id}/cancel`), else the method says it, and an operation's id only where it says more: a DELETE that an
# API calls `removeMember` is `members remove`.


_PARAMETER = re.compile(r"\{[^{}]+\}(?:\.\w+)?")
_CALL = re.compile(r"[A-Za-z]+(?:\.[A-Za-z]+)+")
_ENDING = re.compile(r"\.(?:json|xml)$")
# Parts of a path that say where an API is, and nothing of what is in it.
NO_RESOURCE = re.compile(
    r"v\d+(?:[._]?\w+)?|\d+(?:\.\d+)+|api|rest|latest|public|\d{4}-\d{2}(?:-\d{2})?", re.IGNORECASE
)
_KEPT = 2  # words of a path before the verb, unless it takes more to tell two commands apart
_USUAL = ("list", "get", "create", "update", "delete")
_OF_METHOD = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "update", "QUERY": "search"}
_FEWEST = 5  # operations of an API whose paths tell what all of them share
_RPC = 0.8  # of the operations of an API that only has calls


class CommandWords(NamedTuple):
    """How an API's words are read: verbs in paths and ids, what is another word for one of ours, odd nouns.

    `actions` are verbs, `synonyms` words by the verb that they mean, `contents` parts of a path that are the bytes of
    the thing before them.
    """

    actions: frozenset[str]
    synonyms: Mapping[str, str]
    contents: frozenset[str]
    nouns: Nouns


class NamedCommand(NamedTuple):
    """One command: its words, the operation, what kind of verb it is, and what one thing of it is called.

    The kinds are list, get, create, update, delete, upload, download, and act for all others.
    """

    words: tuple[str, ...]
    operation: str
    verb: str
    noun: str


class _Path(NamedTuple):
    """`nouns` without parameters; `action` is a verb at the end; `of_item`: a parameter stands at the end.

    `is_call`: the API names its calls so (`chat.postMessage`, `jobs/7:cancel`).
    """

    nouns: tuple[str, ...]
    action: str
    of_item: bool
    is_call: bool


def words_of(tables: Sequence[Mapping[str, Any]]) -> CommandWords:
    """Out of the `naming` tables of programs."""
    synonyms = {each: verb for table in tables for verb, words in table.get("synonyms", {}).items() for each in words}
    lists = {
        key: [each for table in tables for each in table.get(key, ())] for key in ("actions", "contents", "unchanging")
    }
    return CommandWords(frozenset(lists["actions"]), synonyms, frozenset(lists["contents"]), Nouns(lists["unchanging"]))


def named_commands(
    operations: Mapping[str, OperationDefinition],
    replies: Mapping[str, Any],
    taken: Collection[str],
    program: str,
    words: CommandWords,
) -> list[NamedCommand]:
    """Words for every operation that can have any of its own, those in use first. `taken` mean something already."""
    is_rpc = _has_calls_alone(operations)
    found: dict[tuple[str, ...], NamedCommand] = {}
    groups: set[tuple[str, ...]] = set()
    tables = sorted(operations.items(), key=lambda pair: pair[1].get("deprecated", False))
    of_items = {table["http"].rpartition("/")[0] for table in operations.values() if table["http"].endswith("}")}
    readers = [
        (id, table, _Reader(id, table, replies.get(id), words, is_rpc=is_rpc, has_items=table["http"] in of_items))
        for id, table in tables
    ]
    _drop_shared([reader for _, _, reader in readers])
    # The plainest first: lists, single things and their changes, before what shares their path.
    for id, table, reader in sorted(
        readers, key=lambda each: (each[2].is_odd, each[2].method == "PUT", len(each[2].path.nouns))
    ):
        for candidate in reader.name_candidates(table.get("tag") or ""):
            named = (f"{program}-{candidate[0]}", *candidate[1:]) if candidate[0] in taken else candidate
            above = {named[:length] for length in range(1, len(named))}
            if above and named not in groups and not found.keys() & {named, *above}:
                groups |= above
                found[named] = NamedCommand(named, id, reader.kind, words.nouns.singular(named[-2]))
                break
    return _in_order(list(found.values()), {id: place for place, id in enumerate(operations)})


def _in_order(commands: list[NamedCommand], order: Mapping[str, int]) -> list[NamedCommand]:
    """Groups as the document has them; in each the usual verbs, then all others."""
    first: dict[tuple[str, ...], int] = {}
    for each in commands:
        place = order[each.operation]
        first[each.words[:-1]] = min(place, first.get(each.words[:-1], place))
    usual = {verb: place for place, verb in enumerate(_USUAL)}
    return sorted(
        commands,
        key=lambda each: (
            first[each.words[:-1]],
            each.words[:-1],
            usual.get(each.words[-1], len(usual)),
            order[each.operation],
        ),
    )


def _drop_shared(readers: Sequence[_Reader]) -> None:
    """Words that every path of an API begins with say nothing, where each has more."""
    nouns = [reader.path.nouns for reader in readers]
    shared = 0
    while nouns and all(len(each) > shared + 1 for each in nouns) and len({each[shared] for each in nouns}) == 1:
        shared += 1
    for reader in readers if len(readers) >= _FEWEST else ():
        reader.path = reader.path._replace(nouns=reader.path.nouns[shared:])


def _has_calls_alone(operations: Mapping[str, OperationDefinition]) -> bool:
    calls = [table["http"] for table in operations.values()]
    posts = sum(call.startswith("POST ") for call in calls)
    return posts > _RPC * len(calls) and not any("{" in call for call in calls)


class _Reader:
    """What one operation is called: its verb, and the words before it."""

    def __init__(
        self, id: str, table: Mapping[str, Any], reply: Any, words: CommandWords, *, is_rpc: bool, has_items: bool
    ) -> None:
        """`has_items`: single things can be had at the paths below, so what this answers are all of them."""
        self.words = words
        self.method, _, path = table["http"].partition(" ")
        self.path = _read_path(path, words)
        acts = (
            self.method in ("POST", "PUT", "PATCH")
            or is_rpc
            or self._plain_verb(self.path.action.partition("-")[0]) in _READING
        )
        self.is_action = bool(self.path.action) and (acts or self.path.is_call)
        self.said = _verbs_said(id, table, self.method.lower(), words)
        self.is_list = reply is not None and reply.is_list
        self.is_rpc, self.has_items = is_rpc, has_items
        body = table.get("body", {})
        self.takes_file = body.get("media", "").startswith(
            ("application/octet-stream", "image/", "*/*", "video/")
        ) or any(part.get("file") for part in body.get("parts", {}).values())
        self.gives_file = table.get("reply") == "binary"
        self.id_word = command_word(re.split(r"[/.]", id)[-1])
        self.verb = self._verb()
        self.kind = self._kind()
        self.is_odd = bool(self.path.action) or self.kind not in _USUAL

    def name_candidates(self, tag: str) -> Iterator[tuple[str, ...]]:
        """From the shortest words to those that nothing else has."""
        nouns, end = self.path.nouns, self.verb
        if self.path.action and not self.is_action:  # a verb that this method undoes, or asks about
            says_more = end not in _USUAL
            end = end if says_more else f"{end}-{self.path.action}"
        if self.is_rpc or self.path.is_call or not nouns:
            yield (*nouns, end)
            return
        start = next(
            (place for place, each in enumerate(nouns[:-1]) if self.words.nouns.are_same(each, command_word(tag))), 0
        )
        if self.kind in ("upload", "download") and nouns[-1] in self.words.contents and len(nouns) > 1:
            yield (*nouns[max(start, len(nouns) - 1 - _KEPT) : -1], end)
        for first in range(max(start, len(nouns) - _KEPT), -1, -1):
            yield (*nouns[first:], end)
        one, many = self.words.nouns.singular(nouns[-1]), nouns[-1]
        rest = re.sub(rf"(?:^|-)(?:{re.escape(many)}|{re.escape(one)})(?=-|$)", "", self.id_word).strip("-")
        # Generated ids begin with the method, some with the version behind it: what it does is said in our words.
        rest = re.sub(rf"^{self.method.lower()}\d*(?=-|$)", end, rest)
        yield (*nouns[max(start, len(nouns) - _KEPT) :], rest or self.id_word)
        yield (*nouns, self.id_word)

    def _plain_verb(self, verb: str) -> str:
        return self.words.synonyms.get(verb, verb)

    def _verb(self) -> str:
        if self.is_action:
            return self.path.action
        if self.takes_file and self.method in ("POST", "PUT"):
            return "upload"
        if self.gives_file and self.method == "GET":
            return "download"
        is_update = self.method == "POST" and self.path.of_item
        usual = "update" if is_update else _OF_METHOD.get(self.method, self.method.lower())
        if usual == "get":
            more = next((each for each in self.said if each not in _USUAL), "")
            if self._answers_list():
                return "list"
            return more if more in {*_READING} - {*self.path.nouns} else "get"
        is_whole = not self.path.of_item and not self.path.action
        if usual == "delete" and not self.said and is_whole and self._is_many():
            return "delete-all"
        said = next(iter(self.said), usual)
        return usual if usual in self.said or (self.method == "DELETE" and said in _READING) else said

    def _answers_list(self) -> bool:
        """Below what a parameter names (`/repositories/{owner}`) only where single things are there, too."""
        return (self.is_list and self.has_items) if self.path.of_item else self.is_list or self.has_items

    def _is_many(self) -> bool:
        last = self.path.nouns[-1:] or ("",)
        return self.words.nouns.singular(last[0]) != last[0]

    def _kind(self) -> str:
        if self.verb in ("upload", "download"):
            return self.verb
        if self.method == "GET":
            return "list" if self.is_list and self._answers_list() else "get"
        return self.verb if self.verb in ("create", "update", "delete") else "act"


_READING = ("get", "list", "search", "check", "count", "export", "preview", "validate", "verify", "download", "compare")


def _read_path(path: str, words: CommandWords) -> _Path:
    parts = [_ENDING.sub("", each) for each in path.split("/") if each]
    action = ""
    if parts and (call := re.fullmatch(r"(.*[^:]):([A-Za-z]+)", parts[-1])):  # as in /jobs/{id}:cancel
        parts[-1], action = call[1], command_word(call[2])
    of_item = bool(parts) and _PARAMETER.fullmatch(parts[-1]) is not None
    nouns: list[str] = []
    for part in parts:
        if "{" not in part and not NO_RESOURCE.fullmatch(part):
            nouns += [command_word(each) or "more" for each in (part.split(".") if _CALL.fullmatch(part) else [part])]
    nouns = [each for place, each in enumerate(nouns) if not (place and words.nouns.are_same(each, nouns[place - 1]))]
    is_call = bool(action) or (bool(parts) and _CALL.fullmatch(parts[-1]) is not None)
    is_verb = len(nouns) > 1 and (is_call or nouns[-1].partition("-")[0] in words.actions)
    if is_verb and not action and not of_item:
        action = words.synonyms.get(nouns[-1], nouns[-1])
        nouns = nouns[:-1]
    return _Path(tuple(nouns), action, of_item, is_call)


def _verbs_said(id: str, table: Mapping[str, Any], method: str, words: CommandWords) -> list[str]:
    """The verbs that an operation's id, else its title, begins with, in our words: `createOrUpdate` has two."""
    title = str(table.get("title", "")) if method == "post" else ""  # nobody's title of a DELETE says more
    for text in (re.split(r"[/.]", id)[-1], id, title):
        pieces = command_word(text).split("-")
        verbs = [words.synonyms.get(each, each) for each in pieces[:1] + pieces[2:3] * (pieces[1:2] == ["or"])]
        if pieces[0] == method:  # it says no more than that
            return []
        if verbs[0] in words.actions:
            return verbs
    return []


# What a program may be called, and how its environment variables begin.


_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST = 40
# Names that Windows keeps for devices.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))}


def check_name(name: str) -> None:
    """Raise `UsageError` for what cannot be the name of a command on every system."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise UsageError(
            f"{name!r} is not a valid program name",
            hint="lower-case letters, digits and single hyphens, a letter first",
        )
    if name in _DEVICES:
        raise UsageError(f"{name!r} is not a valid program name: Windows keeps it for a device")


def prefix_of(name: str) -> str:
    """`my-shop` → `MY_SHOP`."""
    return name.upper().replace("-", "_")
