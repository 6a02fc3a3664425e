"""Whether what receives can work, and whether each service can be signed in to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from ...durations import duration_seconds
from ...errors import did_you_mean, slip_of
from ..problem import Finding, Findings
from ..scopes import names_in, root_names
from ..source_file import Definition, Definitions
from ..template import TemplateError, expressions_in_text, fill_template

if TYPE_CHECKING:
    from ...jsontext import JsonObject
    from ..shape.listener import ListenerDefinition, PlainTokenDefinition, SourceDefinition


# Whether what receives can work: proofs that cover the body, events and routes that can be reached.


_ANYTHING = "\0"
# A source whose types are only known by a pattern takes every word.
_OWN_TYPE = " (a type that is spelt like this needs an [event.<id>] of its own)"


def listener_findings(_: Definitions, listener: Definition) -> Findings:
    """Limits that stand against each other, and one path that would answer two questions."""
    table: ListenerDefinition = listener.table
    if duration_seconds(table["backoff"]) > duration_seconds(table["backoff_max"]):
        yield Finding(("backoff",), f"is longer than backoff_max, {table['backoff_max']}")
    if table.get("max_in_flight", table["max_body"]) < table["max_body"]:
        yield Finding(("max_in_flight",), "holds not even one delivery: it is less than max_body")
    seen: dict[str, str] = {}
    for name, path in cast("dict[str, str]", table["paths"]).items():
        if (other := seen.setdefault(path, name)) != name:
            yield Finding(("paths", name), f"never reached: {other} answers there")


def source_findings(definitions: Definitions, source: Definition) -> Findings:
    """What is signed must hold what is believed: else anybody could put another body to an old signature."""
    for key, table in source.table.items():
        if isinstance(table, Mapping) and "encoding" in table:
            signed = str(table.get("signed", "{body}"))
            yield from (
                Finding((key, "signed"), text) for text in _signed_names(signed, str(source.table.get("id", "")))
            )
            picks = {(key,): table, (key, "timestamp"): table.get("timestamp", table)}
            yield from (
                Finding(place, "needs 'header' or 'member': where it is sent")
                for place, pick in picks.items()
                if not {"header", "member"} & pick.keys()
            )
            yield from (Finding((key, *path), text) for path, text in _signing_time_faults(table, signed))
    signed = source.table.get("certificate", {}).get("signed", "{secret}")
    with suppress(TemplateError):  # that is said of every template
        if not any("secret" in root_names(text) for text in expressions_in_text(signed)):
            text = "must contain {secret}: what this sender signs for others would be taken too"
            yield Finding(("certificate", "signed"), text)
    for path, token in _placed_tokens(source.table):
        if not {"header", "query", "member"} & token.keys():
            yield Finding(path, "needs 'header', 'query' or 'member': where it is sent")
    for place, challenge in enumerate(source.table.get("challenge", ())):
        if "when" not in challenge and challenge.get("method") != "HEAD":
            yield Finding(("challenge", place), "needs 'when': without it only HEAD is always a question")
        if "sign" in challenge and "hmac" not in source.table:
            yield Finding(("challenge", place, "sign"), "needs the secret of 'hmac'")
    yield from _trust_findings(source.table)
    for other in definitions.of_kind("source"):
        if other is source:
            break
        if other.table["path"] == source.table["path"] and not source.files[-1].shipped:
            yield Finding(("path",), f"source {other.id!r} is at this path already", (("source", other.id),))
    for listener in definitions.of_kind("listener"):
        for name, path in listener.table.get("paths", {}).items():
            if path == source.table["path"]:
                about = (listener.kind, listener.id)
                yield Finding(("path",), f"never reached: the listener answers there itself ({name})", (about,))


def _trust_findings(table: SourceDefinition) -> Findings:
    """What would believe anybody, or nobody."""
    if "certificate" in table and re.fullmatch(table["certificate"]["allowed"], "https://any.example/any/key.pem"):
        yield Finding(("certificate", "allowed"), "allows every host, so anybody could sign: name the sender's")
    jwt = table.get("jwt", {})
    if "HS256" in jwt.get("algorithms", ()) and len(jwt["algorithms"]) > 1:
        text = "HS256 cannot stand beside others: who knows a public key could sign with it"
        yield Finding(("jwt", "algorithms"), text)
    if jwt and not {"env", "vendor", "switch", "issuer"} & jwt.keys():
        yield Finding(("jwt",), "nobody's keys are known: needs 'vendor', 'issuer' or 'env'")
    if "vendor" in jwt and not jwt["vendor"].startswith("https://"):
        yield Finding(("jwt", "vendor"), "expected an address that begins with https://")


def _placed_tokens(table: SourceDefinition) -> Iterator[tuple[tuple[str | int, ...], PlainTokenDefinition]]:
    if "token" in table:
        yield ("token",), table["token"]
    for place, challenge in enumerate(table.get("challenge", ())):
        if "token" in challenge:
            yield ("challenge", place, "token"), challenge["token"]


def _signed_names(template: str, id: str) -> Iterator[str]:
    try:
        found = expressions_in_text(template)
    except TemplateError:
        return  # that is said of every template
    bodies = [text for text in found if "body" in root_names(text)]
    if any("payload" in root_names(text) for text in found):
        if id not in found:
            yield "must contain the id, as `id` has it: else one signature proves any number of events"
        return
    if any("crc32" in root_names(text) for text in found):
        return
    if not bodies and not any("form" in root_names(text) for text in found):
        yield "must contain {body}, which is what is proved to be genuine"
    elif bodies and (len(bodies) > 1 or template.count("{body}") != 1):
        yield "the body stands there once, as {body}"
    elif not bodies and not _covers_forms(template):
        yield "must contain all of the form: each field with its name and its value"


_FIELDS: list[JsonObject] = [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]


def _covers_forms(template: str) -> bool:
    """Whether another name, another value, a field less or one more each make another text of it."""
    others = [
        *(_without_those(field, [{**field, key: "z"}]) for field in _FIELDS for key in field),
        *(_without_those(field, []) for field in _FIELDS),
        [*_FIELDS, {"name": "z", "value": "3"}],
    ]
    try:
        seen = {"headers": {}, "timestamp": "0", "url": "u"}
        texts = [str(fill_template(template, {**seen, "form": form})) for form in (_FIELDS, *others)]
    except TemplateError:
        return False
    return texts[0] not in texts[1:]


def _without_those(gone: JsonObject, others: list[JsonObject]) -> list[JsonObject]:
    return [*(field for field in _FIELDS if field is not gone), *others]


def _signing_time_faults(proof: Mapping[str, Any], signed: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The time of signing keeps old deliveries away only where it is signed along."""
    used = set(names_in(signed))
    if "timestamp" in used and "timestamp" not in proof:
        yield ("signed",), "sees no timestamp: `timestamp` says which header holds it"
    if "tolerance" in proof and "timestamp" not in proof:
        yield ("tolerance",), "compares no time: `timestamp` says where that of signing is"
    if "timestamp" in proof and not used & {"timestamp", "headers"}:
        yield ("timestamp",), "is not signed, so that anybody can change it: put {timestamp} into `signed`"


def event_findings(definitions: Definitions, event: Definition) -> Findings:
    """A type that an earlier definition of the same source covers is never looked at."""
    own = _type_of_event(event)
    for other in definitions.of_kind("event"):
        if other is event:
            return
        if other.table["source"] == event.table["source"]:
            same, covers = _type_of_event(other) == own, is_pattern(_type_of_event(other)) and is_pattern(own)
            if same or (covers and fnmatchcase(own.replace("*", _ANYTHING), _type_of_event(other))):
                text = f"never reached: {other.id!r} stands before it, and {_type_of_event(other)!r} covers {own!r}"
                yield Finding(("type",) if "type" in event.table else (), text, (("event", other.id),))
                return


def _type_of_event(event: Definition) -> str:
    return str(event.table.get("type", event.id))


def is_pattern(word: str) -> bool:
    return any(character in word for character in "*?[")


def route_findings(definitions: Definitions, route: Definition) -> Findings:
    sources = route.table.get("source")
    types = [
        _type_of_event(event)
        for event in definitions.of_kind("event")
        if (sources is None or event.table["source"] in sources)
    ]
    for place, word in enumerate(route.table.get("on", ())):
        named = [name for name in types if not is_pattern(name)]
        if types and not any(_may_mean_type(word, name) for name in types):
            what = "no event matches" if is_pattern(word) else "unknown event type"
            yield Finding(("on", place), f"{what} {word!r}{did_you_mean(word, named)}")
        elif not is_pattern(word) and word not in named and (meant := slip_of(word, named)):
            yield Finding(("on", place), f"unknown event type {word!r}, did you mean {meant!r}?{_OWN_TYPE}")
    names: set[str] = set()
    for place, table in enumerate(route.table["do"]):
        if "name" in table and table["name"] in names:
            yield Finding(("do", place, "name"), f"{table['name']!r} is the name of an earlier one")
        names.add(table.get("name", ""))
        longest = _longest_wait(definitions, table)
        if "backoff" in table and longest and duration_seconds(table["backoff"]) > duration_seconds(longest):
            yield Finding(("do", place, "backoff"), f"is longer than backoff_max, {longest}")


def _longest_wait(definitions: Definitions, table: Mapping[str, Any]) -> str | None:
    """Between two runs of a target: its own word, else that of whatever listens."""
    common = [listener.table["backoff_max"] for listener in definitions.of_kind("listener")]
    return cast("str | None", table.get("backoff_max", max(common, key=duration_seconds, default=None)))


def _may_mean_type(word: str, name: str) -> bool:
    """Whether a word of a route can mean a defined type; of two patterns that is taken for granted."""
    if is_pattern(name):
        return is_pattern(word) or fnmatchcase(word, name)
    return fnmatchcase(name, word)


# Whether each service has a way of signing in.


def signin_findings(definitions: Definitions, service: Definition) -> Findings:
    """A service that names no way has those that no other one names."""
    if "beside" in service.table:
        of = definitions.get(("service", service.table["beside"]))
        if of is not None and "beside" in of.table:
            yield Finding(("beside",), f"{of.id!r} is a further server itself: name the service that it is beside")
        return
    if service.table.get("auth"):
        return
    named: dict[str, str] = {}
    for other in definitions.of_kind("service"):
        named |= dict.fromkeys(other.table.get("auth", ()), other.id)
    ways = [each.id for each in definitions.of_kind("auth")]
    if ways and all(way in named for way in ways):
        about = tuple(("service", id) for id in dict.fromkeys(named.values()))
        text = f"nobody could sign in: other services name every way, so name some in 'auth' (of {', '.join(ways)})"
        yield Finding((), text, about)
