"""Whether what receives can work, and whether each service can be signed in to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from string import ascii_letters, digits, hexdigits
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ...durations import duration_seconds
from ...errors import did_you_mean
from ...urls import is_loopback
from ..conditions import all_results, conditions_joined
from ..problem import Finding, Findings
from ..scopes import conflicting_forms, expressions_in, names_in, root_names
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, expressions_in_text, fill_template, texts_in
from ..value_kinds import kind_of_result
from .references import prefix_fault

if TYPE_CHECKING:
    from ...jsontext import JsonObject
    from ..shape.listener import ChallengeDefinition, ListenerDefinition, PlainTokenDefinition, SourceDefinition


# Whether what receives can work: proofs that cover the body, events and routes that can be reached.


_ANYTHING = "\0"


def listener_findings(_: Definitions, listener: Definition) -> Findings:
    """Times that stand against each other, and one path that would answer two questions."""
    table: ListenerDefinition = listener.table
    if duration_seconds(table["backoff"]) > duration_seconds(table["backoff_max"]):
        yield Finding(("backoff",), f"is longer than backoff_max, {table['backoff_max']}")
    if "give_up_after" in table and duration_seconds(table["backoff"]) >= duration_seconds(table["give_up_after"]):
        yield Finding(("give_up_after",), "is over before the first repetition: see 'backoff'")
    seen: dict[str, str] = {}
    for name, path in cast("dict[str, str]", table["paths"]).items():
        if (other := seen.setdefault(path, name)) != name:
            yield Finding(("paths", name), f"never reached: {other} answers there")


_LETTERS_OF = {"hex": {*hexdigits}, "base64": {*ascii_letters, *digits, *"+/="}}


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
            if (fault := prefix_fault(table.get("header", ""), table.get("prefix", ""))) is not None:
                yield Finding((key, "prefix"), fault)
            if set(table.get("separator", ".")) <= _LETTERS_OF[table["encoding"]]:
                yield Finding((key, "separator"), f"stands in a signature as {table['encoding']}, which it would cut")
            if table.get("prefix", "").lower() == table.get("algorithm"):
                yield Finding(
                    (key, "prefix"), f"is the name alone: the sign behind it is part of it, as in '{table['prefix']}='"
                )
            named = re.match(r"(sha\d+|md5)=", table.get("prefix", ""))
            if named and table.get("algorithm", named[1]) != named[1]:
                yield Finding((key, "prefix"), f"is that of {named[1]}, and algorithm = {table['algorithm']!r}")
            for at, pick in picks.items():
                if pick.get("header", "").startswith("HTTP_"):
                    plain = pick["header"].removeprefix("HTTP_").replace("_", "-").title()
                    yield Finding((*at, "header"), f"is how CGI calls a header: write {plain!r}")
            if "member" in table and "{body}" in signed:
                yield Finding(
                    (key, "signed"), "holds the signature itself, which stands in the body: sign members of it"
                )
    signed = source.table.get("certificate", {}).get("signed", "{secret}")
    with suppress(TemplateError):  # that is said of every template
        if not any("secret" in root_names(text) for text in expressions_in_text(signed)):
            text = "must contain {secret}: what this sender signs for others would be taken too"
            yield Finding(("certificate", "signed"), text)
    if (switch := source.table.get("jwt", {}).get("switch")) is not None:
        options = {param["name"] for each in definitions.of_kind("command") for param in each.table.get("params", ())}
        if switch not in options:
            text = f"no command has the option --{switch}{did_you_mean(switch, options)}"
            yield Finding(("jwt", "switch"), text)
    if "events" in source.table:
        yield from _lists_in_events(source.table)
    for path, token in _placed_tokens(source.table):
        if not {"header", "query", "member"} & token.keys():
            yield Finding(path, "needs 'header', 'query' or 'member': where it is sent")
    for place, challenge in enumerate(source.table.get("challenge", ())):
        faults = _challenge_faults(challenge, has_secret="hmac" in source.table)
        yield from (Finding(("challenge", place, *path), text) for path, text in faults)
    yield from _hidden_challenges(source.table.get("challenge", ()))
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


def _hidden_challenges(challenges: Sequence[ChallengeDefinition]) -> Findings:
    """A question that an earlier one takes for itself."""
    for place, later in enumerate(challenges):
        for number, earlier in enumerate(challenges[:place]):
            same = all(earlier.get(key, "POST") == later.get(key, "POST") for key in ("method", "token"))
            if same and {*conditions_joined(earlier.get("when", ""))} <= {*conditions_joined(later.get("when", ""))}:
                yield Finding(("challenge", place), f"never asked: challenge {number} is true wherever this one is")
                break


def _trust_findings(table: SourceDefinition) -> Findings:
    """What would believe anybody, or nobody."""
    allowing = [("certificate",), *(("challenge", place) for place in range(len(table.get("challenge", ()))))]
    for path in allowing:
        if (fault := _pattern_fault(_table_at(table, path).get("allowed"))) is not None:
            yield Finding((*path, "allowed"), fault)
    for key in ("hmac", "public_key"):
        if "payload" in {text.strip() for text in expressions_in(_table_at(table, (key,)).get("signed", ""))}:
            yield Finding((key, "signed"), "{payload} is JSON written anew, and not the bytes that came: write {body}")
    for key in ("hmac", "public_key", "certificate", "jwt"):
        for name, at_least in (("tolerance", 1.0), ("leeway", 0.0)):
            length = _table_at(table, (key,)).get(name)
            seconds = at_least if length is None else duration_seconds(length)
            if seconds < at_least:
                yield Finding((key, name), f"{length} would refuse nearly every delivery: 5m is usual")
            elif seconds > _LONGEST_TOLERANCE:
                yield Finding((key, name), f"{length} would take deliveries that somebody kept: 5m is usual")
    for path, token in [(("jwt",), table.get("jwt", {})), *_placed_tokens(table)]:
        if (fault := prefix_fault(token.get("header", ""), token.get("prefix", ""))) is not None:
            yield Finding((*path, "prefix"), fault)
    jwt = table.get("jwt", {})
    if {"cache", "grace"} <= jwt.keys() and duration_seconds(jwt["grace"]) < duration_seconds(jwt["cache"]):
        yield Finding(("jwt", "grace"), f"is over before the key set is fetched again: cache = {jwt['cache']!r}")
    for key in ("type", "id", "time"):
        if (fault := _value_fault(str(table.get(key, "''")))) is not None:
            yield Finding((key,), fault)
    read: dict[Path, str] = {(key,): str(table.get(key, "")) for key in ("type", "id", "time", "body")}
    for path, other in conflicting_forms(read, "payload"):
        yield Finding(path, f"takes payload as a list, and `{other[0]}` takes it as a table: one of them finds nothing")
    for place, name in enumerate(table.get("dedup_ignore", ())):
        first, dot, member = name.partition(".")
        if dot and first in ("payload", "body"):
            yield Finding(("dedup_ignore", place), f"names members at the top of the payload: write {member!r}")
    if "form_field" in table and table.get("content") == "json":
        yield Finding(("form_field",), "needs content = 'form' or 'any'")
    certificate = table.get("certificate", {})
    if certificate and certificate["address"].get("header", "") == certificate.get("header"):
        yield Finding(("certificate", "address"), "is found where the signature is")
    jwt = table.get("jwt", {})
    issuer = jwt.get("constants", {}).get("iss")
    if issuer is not None and issuer not in jwt.get("issuer", [issuer]):
        yield Finding(("jwt", "constants", "iss"), "is not in 'issuer'")
    if jwt and ("HS256" in jwt["algorithms"]) != ("env" in jwt):
        text = "HS256 is for secrets ('env'), and all others for key sets ('vendor', 'issuer')"
        yield Finding(("jwt", "algorithms"), text)
    if "HS256" in jwt.get("algorithms", ()) and len(jwt["algorithms"]) > 1:
        text = "HS256 cannot stand beside others: who knows a public key could sign with it"
        yield Finding(("jwt", "algorithms"), text)
    if "header" in jwt and "env" not in jwt and not {"claims", "audience", "constants"} & jwt.keys():
        text = "anybody with an account there can have such a token: `audience` or `claims` say which one is meant"
        yield Finding(("jwt",), text)
    if jwt and not {"env", "vendor", "switch", "issuer"} & jwt.keys():
        yield Finding(("jwt",), "nobody's keys are known: needs 'vendor', 'issuer' or 'env'")
    if "vendor" in jwt and not _serves_keys(jwt["vendor"]):
        yield Finding(("jwt", "vendor"), "expected an address that begins with https://, or http:// on this host")


def _serves_keys(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


def _placed_tokens(table: SourceDefinition) -> Iterator[tuple[tuple[str | int, ...], PlainTokenDefinition]]:
    if "token" in table:
        yield ("token",), table["token"]
    for place, challenge in enumerate(table.get("challenge", ())):
        if "token" in challenge:
            yield ("challenge", place, "token"), challenge["token"]


# Headers that are the same for all that a sender sends.
_OF_SENDERS = ("content-type", "content-length", "host", "user-agent", "accept")


def _value_fault(expression: str) -> str | None:
    """Why an expression can never be one value of an event, or none."""
    if expression in ("payload", "headers", "query"):
        return "is a table: name one value in it"
    if (kind := kind_of_result(expression)) in ("boolean", "array", "object"):
        return {"boolean": "is true or false, whatever the event is", "array": "is a list: name one value"}.get(
            kind, "is a table: name one value in it"
        )
    header = expression.removeprefix("headers.").strip('"')
    return f"{header!r} is the same for many events" if header in _OF_SENDERS else None


_LONGEST_TOLERANCE = 7 * 86400.0  # seconds; some senders sign once and repeat for days
_ANY_SIGN = re.compile(r"\\.|\[[^\]]*\]|(\.)")  # a dot that is neither escaped nor one of a class


def _lists_in_events(source: Mapping[str, Any]) -> Findings:
    """What looks for the list of events in one of them."""
    inside = (f"{source['events']}[", *([f"{source['events']}."] if source["events"] != "payload" else []))
    for key in ("type", "id", "time", "body"):
        if str(source.get(key, "")).startswith(inside):
            yield Finding((key,), f"reads {source['events']}, and `payload` is one event of that list here")


def _table_at(table: Mapping[str, Any], path: tuple[str | int, ...]) -> Mapping[str, Any]:
    found: Any = table
    for step in path:
        found = found[step] if isinstance(step, int) else found.get(step, {})
    return cast("Mapping[str, Any]", found)


def _pattern_fault(pattern: str | None) -> str | None:
    """Why a pattern of addresses would allow other hosts than the sender's, or none."""
    if pattern is None:
        return None
    host, slash, path = pattern.removeprefix("^").removeprefix("https://").partition("/")
    if not pattern.removeprefix("^").startswith("https://"):
        return "expected a pattern that begins with https://"
    if host.startswith(("*", "/")) or "/*" in path.replace("/*$", ""):
        return "a * repeats what stands before it, the slash here: any name is written [a-z0-9-]+, any path .*"
    if any(found[1] for found in _ANY_SIGN.finditer(host)):
        return "a dot in the host stands for any sign, so other hosts fit: write \\. for a dot"
    return None if slash and path not in ("", "$") else "names a host without a path, so no address fits"


def _challenge_faults(challenge: Mapping[str, Any], *, has_secret: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    """What would never be a question, be one always, or have an answer that is never given."""
    method, when = challenge.get("method", "POST"), str(challenge.get("when", ""))
    if not when and method != "HEAD":
        yield (), "needs 'when': without it only HEAD is always a question"
    if when in ("headers", "payload", "query"):
        yield ("when",), f"is true of every request: say which member of {when}"
    if "sign" in challenge and not has_secret:
        yield ("sign",), "needs the secret of 'hmac'"
    answer = {
        key: {name for text in texts_in(challenge[key]) for name in names_in(text)}
        for key in ("reply", "sign", "visit")
        if key in challenge
    }
    read = set[str]().union(*answer.values())
    if ("signature" in answer.get("reply", ())) != ("sign" in challenge):
        yield ("sign" if "sign" in challenge else "reply",), "signature in 'reply' and 'sign' belong together"
    if method == "HEAD" and "reply" in challenge:
        yield ("reply",), "is never sent: the answer to HEAD has no body"
    with suppress(TemplateError):
        if "payload" in read | set(root_names(when)) and method != "POST":
            yield ("method",), f"{method} has no payload: use query or headers"
        elif "payload" in read and "payload" not in root_names(when):
            yield ("when",), "has to look at the payload: a question that does not is answered before it is read"
    token = challenge.get("token", {})
    if token and "env" not in token:
        yield ("token",), "needs 'env': the variable with the token"
    if "member" in token and method != "POST":
        yield ("token", "member"), f"{method} has no payload: use query or header"


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
    stamp = proof.get("timestamp", {})
    is_signed = "timestamp" in used or ("headers" in used and stamp.get("header", "\0").lower() in signed)
    if stamp and not is_signed:
        yield ("timestamp",), "is not signed, so that anybody can change it: put {timestamp} into `signed`"
    if "header" in proof and stamp.get("header") == proof["header"] and "separator" not in {*stamp, *proof}:
        yield ("separator",), "is missing: the signature and its time stand in one header, with something between them"
    elif stamp and all(stamp.get(key) == proof.get(key) for key in ("header", "member", "prefix")):
        yield ("timestamp",), "is found where the signature is: give it a header, or a prefix of its own"


def broker_findings(definitions: Definitions, broker: Definition) -> Findings:
    """Of two brokers with one scheme the other one would never be spoken to."""
    for other in definitions.of_kind("broker"):
        if other is broker:
            return
        for key in ("schemes", "tls_schemes"):
            of_other = {*other.table["schemes"], *other.table.get("tls_schemes", ())}
            for scheme in (each for each in broker.table.get(key, ()) if each in of_other):
                text = f"{scheme}:// is broker {other.id!r} already: [extend.broker.{other.id}] changes that one"
                yield Finding((key,), text, (("broker", other.id),))


def envelope_findings(_: Definitions, envelope: Definition) -> Findings:
    yield from (Finding(*found) for found in media_type_faults(envelope.table))


def media_type_faults(table: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """A table that is sent is JSON, whatever its headers say."""
    for name, text in table.get("headers", {}).items():
        if name.lower() == "content-type" and text.startswith(_FORMS) and not isinstance(table.get("send", ""), str):
            yield ("headers", name), "is that of a form, and a table in `send` is sent as JSON: write a text, a=1&b=2"


_FORMS = ("application/x-www-form-urlencoded", "multipart/")


def event_findings(definitions: Definitions, event: Definition) -> Findings:
    """A type that an earlier definition of the same source covers is never looked at."""
    own = type_of_event(event)
    if own.startswith("^") or own.endswith(".*$"):
        yield Finding(("type",), f"{own!r}: a type, or a pattern with *, and no regular expression")
    source = definitions.get(("source", event.table["source"]))
    types = all_results(source.table["type"]) if source is not None else None
    if (
        source is not None
        and types is not None
        and not any(isinstance(each, str) and fnmatchcase(each, own) for each in types)
    ):
        text = f"`type` of source {source.id!r} never gives {own!r}, but {' or '.join(map(str, types))}"
        yield Finding(("type",) if "type" in event.table else (), text, (("source", source.id),))
    for other in definitions.of_kind("event"):
        if other is event:
            return
        if other.table["source"] == event.table["source"]:
            same, covers = type_of_event(other) == own, is_pattern(type_of_event(other)) and is_pattern(own)
            if same or (covers and fnmatchcase(own.replace("*", _ANYTHING), type_of_event(other))):
                text = f"never reached: {other.id!r} stands before it, and {type_of_event(other)!r} covers {own!r}"
                yield Finding(("type",) if "type" in event.table else (), text, (("event", other.id),))
                return


def type_of_event(event: Definition) -> str:
    return str(event.table.get("type", event.id))


def is_pattern(word: str) -> bool:
    return any(character in word for character in "*?[")


# Whether each service has a way of signing in.


def signin_findings(definitions: Definitions, service: Definition) -> Findings:
    """A service that names no way has those that no other one names."""
    if "beside" in service.table:
        of = definitions.get(("service", service.table["beside"]))
        if of is not None and "beside" in of.table:
            yield Finding(("beside",), f"{of.id!r} is a further server itself: name the service that it is beside")
        elif of is not None and "base_url" not in of.table:
            text = f"no site is at the address of {of.id!r}, which has no base_url: this server is never used"
            yield Finding(("beside",), text, (("service", of.id),))
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
