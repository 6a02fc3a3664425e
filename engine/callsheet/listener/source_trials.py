"""What a source makes of a delivery that is made here for it: one that refuses its own is defined wrongly."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import CallsheetError
from ..language.problem import Finding
from ..language.scopes import names_in, root_names
from ..language.template import TemplateError, evaluate
from .simulated_deliveries import derived_sample, make_payload, plain_delivery
from .verify.payload import Rejected
from .verify.source import Challenge, Challenged, Source

if TYPE_CHECKING:
    from ..language.shape.listener import EventDefinition, SourceDefinition
    from .verify.event import Event

# Letters, hex digits and base64 at once: a secret in whatever form a source wants it.
_SECRET = "0123456789abcdef"  # noqa: S105 - of nothing
_CLAIM = "trial"
_PROVED_HERE = ("hmac", "token")  # by a secret that both sides have
_ANYWHERE = "https://hooks.example.com"


def trial_findings(name: str, definition: SourceDefinition, events: Mapping[str, EventDefinition]) -> Iterator[Finding]:
    """What is wrong by what becomes of a delivery of each type; the first fault says enough.

    Nothing is said of what has no `sample`, and whose expressions do not say what one looks like.
    """
    if all(event["source"] != name for event in events.values()):
        yield Finding((), f'no event of it is defined, so nothing is ever handled: [event.NAME] with source = "{name}"')
    nothing = {"id": "", "type": "", "time": "", "body": {}}
    if "sample" not in definition and derived_sample(definition, nothing) is None:
        return
    for id, event in events.items():
        pattern = event.get("type", id)
        if event["source"] == name and not set("?[") & set(pattern):  # those take more than a word in place of the *
            found = _find_fault(name, definition, id, event, pattern)
            if found is not None:
                yield found
                return


def _find_fault(
    name: str, definition: SourceDefinition, about: str, event: EventDefinition, pattern: str
) -> Finding | None:
    """`about` is the id of the event's definition."""
    type_, ids = pattern.replace("*", "made"), []
    for id in ("trial-1", "trial-2"):
        try:
            received = _receive_delivery(name, definition, event.get("sample", {}), type_, id)
            is_met = evaluate(event.get("requires", "`true`"), received.scope)
        except Challenged:
            return Finding(("challenge",), f"an event of type {type_!r} is taken for a question: `when` is too wide")
        except TemplateError as error:
            return Finding((), f"cannot be read out of its `sample`: {error}") if "sample" in definition else None
        except (Rejected, CallsheetError) as error:
            reason = error.detail if isinstance(error, Rejected) else error.message
            reason += ", as its `sample` is" if "sample" in definition else ""
            return Finding((), f"refuses the delivery of type {type_!r} that `webhook trigger` makes: {reason}")
        if not fnmatchcase(received.type, pattern):
            return Finding(("type",), f"is {received.type!r} for a delivery that is made of type {type_!r}")
        if {"requires", "sample"} <= event.keys() and not is_met:
            return Finding((), f"the sample of event {about!r} does not fit its own `requires`")
        if "sample" in event and (lacking := _lacking_names(event.get("summary", ""), received.scope["body"])):
            return Finding((), f"the sample of event {about!r} has no {', '.join(lacking)}, which its `summary` shows")
        if "id" in definition and received.id is None and "id" in names_in(definition.get("sample")):
            return Finding(("id",), "finds nothing in the `sample`, which has an {id}")
        if (
            "events" in definition
            and received.source.id_is_signed
            and not _reads_event(definition.get("id", "payload"))
        ):
            return Finding(
                ("id",), "is the same for all events of one delivery, so only the first of a type is handled"
            )
        ids.append(received.id)
    if "id" in definition and ids[0] is not None and ids[0] == ids[1]:
        text = "is the same for two events, so the second would be taken for a repetition and left out"
        return Finding(("id",), text)
    return None


def _reads_event(id: str) -> bool:
    return not {"headers", "query"}.issuperset(root_names(id))


def _lacking_names(text: str, body: Any) -> list[str]:
    return [name for name in dict.fromkeys(names_in(text)) if name not in body] if isinstance(body, dict) else []


def _receive_delivery(name: str, definition: SourceDefinition, body: Any, type_: str, id: str) -> Event:
    """Raises `Rejected`, `Challenged`, or `TemplateError` where the delivery does not hold what is read."""
    jwt = definition.get("jwt", {})
    is_proved = "env" in jwt or any(key in definition for key in _PROVED_HERE)
    secret = _SECRET if is_proved else None
    url = f"{_ANYWHERE}{definition['path']}"
    payload, headers = make_payload(definition, type_, body, id, ())
    expected = jwt.get("claims", {})
    made = plain_delivery(definition, payload, headers, secret, url, dict.fromkeys(expected, _CLAIM))
    source = Source(
        name,
        definition,
        [_SECRET] if is_proved and "env" not in jwt else [],
        answers=[Challenge(each, [_SECRET]) for each in definition.get("challenge", ())],
        public_url=_ANYWHERE,
        claims={claim: [_CLAIM] for claim in expected},
        token_secrets=[_SECRET] if "env" in jwt else [],
    )
    sent = [(key.lower().encode(), value.encode()) for key, value in made.headers.items()]
    events = source.receive_events(sent, urlsplit(made.url).query.encode(), made.body, time.time())
    if not events:
        raise TemplateError("`events` finds none")
    return events[0]
