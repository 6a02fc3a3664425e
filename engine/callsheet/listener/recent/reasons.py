"""Why a delivery was refused, step by step, and why a route did or did not take an event."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...language.compiled_jmespath import compile_condition
from ..routing.route import accepts
from ..verify.plain_token import PlainToken
from ..verify.public_key import PublicKeySignature
from ..verify.rejection import Rejected
from ..verify.signature import Signature

if TYPE_CHECKING:
    from ..routing.route import Route, RoutingTable
    from ..verify.event import Event
    from ..verify.jws import TokenVerifier
    from ..verify.keyset import KeySet
    from ..verify.signed_message import Headers
    from ..verify.source import Source

_SHOWN = 200  # characters of the bytes that have to be signed
_BEGINNING = 12  # characters of a signature
Step = dict[str, Any]


def text_without_secrets(source: Source | None, data: bytes) -> str:
    """Some senders send their secret as it is, in a header or in the body: it is shown nowhere."""
    proof = source.proof if source is not None else None
    for secret in proof.keys if isinstance(proof, PlainToken) else ():
        data = data.replace(secret, b"(not shown)")
    return data.decode("utf-8", "backslashreplace")


def header_without_secrets(source: Source | None, name: bytes, value: bytes) -> str:
    """A token in a header is a credential for as long as it is valid."""
    if source is not None and source.tokens is not None and name == source.tokens.header.lower().encode():
        return "(not shown)"
    return text_without_secrets(source, value)


def proof_steps(source: Source, headers: Headers, query: bytes, data: bytes, now: float) -> list[Step]:
    """What was looked at, in order: `ok` is whether it is as it has to be, or nothing where it only informs."""
    steps = [_step(f"POST {source.path}, {len(data)} bytes")]
    if source.tokens is not None and source.keys is not None:
        steps.extend(_token_steps(source.tokens, source.keys, headers, data, now))
    if source.proof is not None:
        steps.extend(_proof_steps(source, headers, query, data, now))
    if not source.is_verified:
        steps.append(_step("this source is served without a secret or a key set: nothing is verified"))
    return steps


def _step(text: str, *, ok: bool | None = None) -> Step:
    return {"ok": ok, "text": text}


def _token_steps(tokens: TokenVerifier, keys: KeySet, headers: Headers, data: bytes, now: float) -> Iterator[Step]:
    """The token's own header is only read here, to say what it names."""
    try:
        token = tokens.token_of(headers, data)
    except Rejected as refused:
        yield _step(refused.detail, ok=False)
        return
    first = token.partition(b".")[0]
    named: Any = None
    with suppress(ValueError):
        named = json.loads(urlsafe_b64decode(first + b"=" * (-len(first) % 4)))
    if not isinstance(named, dict):
        yield _step(f"{tokens.place} is not a signed token (JWT): it has no header that can be read", ok=False)
        return
    yield _step(f"a token: alg={str(named.get('alg'))[:40]} kid={str(named.get('kid'))[:80]}")
    try:
        tokens.claims(token, keys.find, now)
    except Rejected as refused:
        yield _step(refused.detail, ok=False)
    else:
        yield _step("signature and claims of the token", ok=True)


def _proof_steps(source: Source, headers: Headers, query: bytes, data: bytes, now: float) -> Iterator[Step]:
    proof, request = source.proof, source.request_of(query)
    assert proof is not None  # noqa: S101 - the caller asked
    if isinstance(proof, Signature | PublicKeySignature):
        try:
            candidates = proof.signed.candidates(headers, data)
            beginnings = ", ".join(f"{each[:_BEGINNING].decode('latin-1')}..." for each in candidates)
            yield _step(f"signatures in {proof.signed.name}: {beginnings or 'none'}", ok=bool(candidates))
            message = proof.signed.message(headers, data, now, request)
        except Rejected as refused:
            yield _step(refused.detail, ok=False)
            return
        rest = "..." if len(message) > _SHOWN else ""
        shown = message[:_SHOWN].decode("utf-8", "backslashreplace") + rest
        yield _step(f"{len(message)} bytes have to be signed ({proof.algorithm}): {shown}")
    what = "public key" if isinstance(proof, PublicKeySignature) else "secret"
    try:
        for number, matches in enumerate(proof.matches(headers, data, now, request), 1):
            yield _step(f"{what} {number} {'matches' if matches else 'does not match'}", ok=matches)
    except Rejected as refused:
        yield _step(refused.detail, ok=False)


def route_reasons(table: RoutingTable, event: Event) -> list[dict[str, Any]]:
    """Each route, whether it took the event, and why not."""
    plan = table.plan(event)
    if not plan.wanted:
        why = "the type is not among those of --events" if plan.known else "the source defines no such type"
        return [{"route": route.name, "took": False, "why": why} for route in table.routes]
    return [_route_reason(route, event) for route in table.routes]


def _route_reason(route: Route, event: Event) -> dict[str, Any]:
    definition = route.definition
    why = ""
    if event.source.name not in definition.get("source", (event.source.name,)):
        why = f"it takes events of {', '.join(definition['source'])}"
    elif not accepts(definition, event.source.name, event.type):
        why = f"it takes the types {', '.join(definition['on'])}"
    elif "when" in definition and not compile_condition(definition["when"])(event.fast_scope):
        why = f"its condition does not hold: {definition['when']}"
    return {"route": route.name, "took": not why, "why": why}
