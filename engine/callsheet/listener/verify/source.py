"""A source's definition, ready for use: proving deliveries genuine and reading events out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from re import compile as compile_pattern
from typing import TYPE_CHECKING, Any, Literal

from ...errors import UsageError
from ...jsontext import dump_json
from ...language.compiled_jmespath import compile_fast, first_names
from ...language.template import compile_expression, expressions_in_text, fill_template, fill_text, to_text
from ...paths import cache_directory
from .certificate import UnknownCertificate
from .event import Event, query_values
from .key_set import KeySet, KeySetCache, SharedKeys, UnknownKey, check_url, get_from, make_fetcher
from .payload import NO_EVENT, UNAVAILABLE, Rejected, json_of, parse_any, parse_exact, parse_payload, unreadable_body
from .proof_kinds import PROOFS, covered_by, proof_definition, proof_of, variable_of
from .proofs import (
    NO_REQUEST,
    Headers,
    KeyedProof,
    PlainToken,
    Signature,
    SignedRequest,
    are_signed,
    other_spellings,
    text_headers,
)
from .secret_options import collect_secrets
from .signed_tokens import TokenVerifier

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape import listener as shape
    from ...language.shape.listener import ChallengeDefinition

# Questions that a sender asks of an address before it sends events there, and their answers.

_LONGEST = 4096


class Challenged(Exception):
    """A delivery that is a question: `body` is the answer, JSON or plain text, once `visit` has been asked, if any."""

    def __init__(self, body: bytes, content_type: bytes, visit: str = "") -> None:
        super().__init__("challenge")
        self.visit = visit
        self.body = body
        self.content_type = content_type


class Challenge:
    """`secrets` are those of its `token`. Raises `UsageError` for a secret that cannot be one."""

    def __init__(self, definition: ChallengeDefinition, secrets: Sequence[str]) -> None:
        self.method = definition.get("method", "POST")
        when = definition.get("when", "`true`")
        self.when = compile_expression(when)
        self.asks_in_body = "payload" in first_names(when)
        self.reply = definition.get("reply", "")
        self.signed = definition.get("sign")
        self.visit = definition.get("visit", "")
        self.allowed = compile_pattern(definition.get("allowed", ""))
        token = definition.get("token")
        self.token = PlainToken(token, secrets) if token is not None else None
        self.is_open = token is None or bool(secrets)  # without its secret nobody's question is answered

    def answer_to(
        self, scope: Mapping[str, Any], headers: Headers, query: bytes, proof: KeyedProof | None = None
    ) -> Challenged | None:
        """Nothing where it is none. `proof` is that of deliveries, for an answer that is signed.

        Raises `Rejected` for one without the right token, or with too long an answer.
        """
        if not self.is_open or not self.when(scope):
            return None
        if self.token is not None:
            self.token.check_delivery(headers, b"", 0, SignedRequest(query=query))
        if self.signed is not None:
            if not isinstance(proof, Signature):  # without its secret nothing can be signed
                return None
            scope = {**scope, "signature": proof.sign_message(to_text(fill_text(self.signed, scope)).encode())}
        reply = fill_template(self.reply, scope)
        is_text = isinstance(reply, str) or reply is None
        body = (reply or "").encode("utf-8", "replace") if is_text else dump_json(reply).encode("utf-8", "replace")
        if len(body) > _LONGEST:
            raise Rejected(400, "challenge_long", f"a challenge whose answer has {len(body)} bytes")
        visit = to_text(fill_text(self.visit, scope))
        if visit and not self.allowed.fullmatch(visit):
            raise Rejected(400, "challenge_address", f"a challenge to ask {visit[:200]!r}, which is not the sender's")
        return Challenged(body, b"text/plain; charset=utf-8" if is_text else b"application/json", visit)


async def accept(question: Challenged) -> None:
    """Ask the address by which a question is accepted. Raises `Rejected` where it gives no answer."""
    try:
        await get_from(question.visit)
    except (OSError, ValueError) as error:
        raise Rejected(UNAVAILABLE, "challenge_unavailable", f"{question.visit[:200]}: {error}") from None


_MAX_EVENTS = 5000  # of one delivery
_MAX_TYPE_LENGTH = 256
_MAX_ID_LENGTH = 1024
_ID_BOUND = 10**_MAX_ID_LENGTH
_REGISTERED = ("iss", "sub", "aud", "exp", "nbf", "iat", "jti")


class Source:
    """`keys` is the key set for tokens, if any is used; `public_url` what the sender calls, up to the path.

    `answers` are the challenges that are answered.
    """

    def __init__(
        self,
        name: str,
        definition: shape.SourceDefinition,
        secrets: Sequence[str] = (),
        keys: KeySet | None = None,
        answers: Sequence[Challenge] = (),
        public_url: str = "",
        claims: Mapping[str, Sequence[str]] | None = None,
        token_secrets: Sequence[str] = (),
    ) -> None:
        """`claims` are the values that those of a token may have, where its definition leaves them open.

        `token_secrets` sign tokens where that is no key set's.
        """
        self.name = name
        self.definition = definition
        self.path = definition["path"]
        self.dedup_ignore = frozenset(definition.get("dedup_ignore", ()))
        self.registered = frozenset(definition.get("jwt", {}).get("registered", _REGISTERED))
        self.keys = keys
        self.find_key = keys.find_key if keys is not None else SharedKeys(token_secrets).find if token_secrets else None
        self.tokens = TokenVerifier(definition["jwt"], claims) if self.find_key is not None else None
        self.proof = proof_of(definition, secrets)
        self.covered = covered_by(definition)
        self.signs_url = any("url" in first_names(text) for text in expressions_in_text(self.covered or ""))
        self.wants_request = "token" in definition or self.signs_url
        self.public_url = public_url
        self.other_urls = other_spellings(public_url) if self.signs_url else []
        self.content = definition.get("content", "json")
        self.form_field = definition.get("form_field")
        self.questions = [each for each in answers if each.method == "POST" and each.asks_in_body]
        # These hold no event, and nothing that a proof could be of.
        self.open_questions = [each for each in answers if each.method == "POST" and not each.asks_in_body]
        self.get_questions = [each for each in answers if each.method != "POST"]
        self.needs_headers = bool({"headers", "query"} & self._names_read("type", "id"))
        self.record_needs_headers = bool({"headers", "query"} & self._names_read("time", "body"))
        self.type_is_signed, self.id_is_signed = self._is_signed("type"), self._is_signed("id")
        self._events = compile_fast(definition["events"]) if "events" in definition else None
        self._type = compile_fast(definition["type"])
        self._id = compile_fast(definition.get("id", "`null`"))
        self.time_of: Callable[[Any], Any] = compile_fast(definition.get("time", "`null`"))
        has_claims = "jwt" in definition and "header" not in definition["jwt"]  # of which those of its own are the body
        self.body_of: Callable[[Any], Any] = compile_fast(definition.get("body", "`null`" if has_claims else "payload"))

    def _names_read(self, *keys: str) -> set[str]:
        texts = (self.definition.get(key) for key in keys)
        return set().union(*(first_names(text) for text in texts if isinstance(text, str)))

    def _is_signed(self, key: Literal["type", "id"]) -> bool:
        """Whether what is read there was signed, not only sent beside it. Where nothing is signed, all is believed."""
        if not self.is_verified or key not in self.definition:
            return True
        signed = self.covered if self.tokens is None else ""
        return signed is None or are_signed(self.definition[key], signed)

    @property
    def is_verified(self) -> bool:
        return self.tokens is not None or self.proof is not None

    @property
    def can_prove(self) -> bool:
        """Whether genuine deliveries can be told now."""
        return self.keys is None or self.proof is not None or self.keys.is_usable

    def receive_event(self, headers: Headers, query: bytes, data: bytes, now: float) -> Event:
        """The event of a genuine delivery. Raises `Rejected`; `UnknownKey` where keys may be missing."""
        if self.open_questions:
            self._ask_openly(headers, query)
        if self.tokens is None or self.find_key is None:
            if self.proof is not None:
                self._check_proof(self.proof, headers, query, data, now)
            text = data if self.content == "json" else self._json_of_body(data)
            return self._make_event(parse_payload(text), headers, query, data, text)
        try:
            claims, text = self.tokens.verified_claims(self.tokens.token_of(headers, data), self.find_key, now)
            self.tokens.check_request(claims, self.path, query)
        except Rejected as refused:
            if self.proof is None or refused.status == NO_EVENT:
                raise
            self._check_proof_too(self.proof, headers, query, data, now, refused)
            return self._make_event(parse_payload(data), headers, query, data, data)
        if self.tokens.header:
            return self._make_event(parse_payload(data), headers, query, data, data)
        return self._make_event(claims, headers, query, data, text)

    def receive_events(self, headers: Headers, query: bytes, data: bytes, now: float) -> list[Event]:
        """The events of a genuine delivery: one, unless its sender puts several into each."""
        if self._events is not None:
            return self.receive_list(headers, query, data, now)
        return [self.receive_event(headers, query, data, now)]

    def receive_list(self, headers: Headers, query: bytes, data: bytes, now: float) -> list[Event]:
        """The events of a genuine delivery that is a list of them, each as if it had come alone. Raises `Rejected`.

        One that is no event is the fault of the whole delivery: its sender would not learn of one.
        """
        if self.open_questions:
            self._ask_openly(headers, query)
        if self.proof is not None:
            self._check_proof(self.proof, headers, query, data, now)
        text = data if self.content == "json" else self._json_of_body(data)
        parse_any(text)  # tells what is wrong with it
        payload = parse_exact(text)
        scope = {"payload": payload, "headers": text_headers(headers), "query": query_values(query)}
        self._raise_challenge(scope, headers, query)
        found = self._events(scope) if self._events is not None else None
        if not isinstance(found, list):
            raise unreadable_body("not a list of events")
        if len(found) > _MAX_EVENTS:
            raise unreadable_body(f"a list of {len(found)} events: more than {_MAX_EVENTS}")
        return [self._event_of_list(scope, headers, query, dump_json(each).encode()) for each in found]

    def _event_of_list(self, beside: Mapping[str, Any], headers: Headers, query: bytes, text: bytes) -> Event:
        return Event(self, parse_payload(text), headers, query, text, text, beside=beside)

    def answer_to_question(self, headers: Headers, query: bytes, method: str = "GET") -> Challenged | None:
        """The answer to a GET or HEAD that is a question. Raises `Rejected`."""
        asked = [question for question in self.get_questions if question.method == method]
        return self._answer_challenges(asked, _without_body(headers, query), headers, query)

    def _answer_challenges(
        self, asked: Sequence[Challenge], scope: Mapping[str, Any], headers: Headers, query: bytes
    ) -> Challenged | None:
        found = (question.answer_to(scope, headers, query, self.proof) for question in asked)
        return next((answer for answer in found if answer is not None), None)

    def _ask_openly(self, headers: Headers, query: bytes) -> None:
        if (
            answer := self._answer_challenges(self.open_questions, _without_body(headers, query), headers, query)
        ) is not None:
            raise answer

    def _make_event(self, payload: dict[str, Any], headers: Headers, query: bytes, data: bytes, text: bytes) -> Event:
        if self.questions:
            scope = {"payload": payload, "headers": text_headers(headers), "query": query_values(query)}
            self._raise_challenge(scope, headers, query)
        return Event(self, payload, headers, query, data, text)

    def _raise_challenge(self, scope: Mapping[str, Any], headers: Headers, query: bytes) -> None:
        """Raises `Challenged` where the delivery is a question."""
        if (answer := self._answer_challenges(self.questions, scope, headers, query)) is not None:
            raise answer

    def _check_proof(self, proof: KeyedProof, headers: Headers, query: bytes, data: bytes, now: float) -> None:
        if not self.wants_request:
            proof.check_delivery(headers, data, now, NO_REQUEST)
            return
        for other in self.other_urls:
            with suppress(Rejected):
                proof.check_delivery(headers, data, now, self.request_of(query, other))
                return
        proof.check_delivery(headers, data, now, self.request_of(query))

    def request_of(self, query: bytes, url: str | None = None) -> SignedRequest:
        """What a signature may cover beside headers and body, where the sender called this address."""
        base = self.public_url if url is None else url
        return SignedRequest(f"{base}{self.path}{'?' if query else ''}{query.decode('latin-1')}", query)

    def _json_of_body(self, data: bytes) -> bytes:
        """The payload's JSON, where forms are accepted.

        The body itself tells what it is: a Content-Type is not signed, and would let one body be two events.
        """
        return data if self.content == "any" and data.lstrip()[:1] == b"{" else json_of(data, self.form_field)

    async def fetch_key(self, unknown: UnknownKey) -> None:
        """Look for the key that a token names, or for a certificate. Raises `Rejected`."""
        if isinstance(unknown, UnknownCertificate):
            await unknown.fetch()
        elif self.keys is not None:
            await self.keys.fetch_for(unknown.key_request)

    def _check_proof_too(
        self, proof: KeyedProof, headers: Headers, query: bytes, data: bytes, now: float, first: Rejected
    ) -> None:
        try:
            self._check_proof(proof, headers, query, data, now)
        except Rejected as second:
            if isinstance(first, UnknownKey) or first.status == UNAVAILABLE:
                raise first from None
            detail = f"{first.detail}; {second.detail}"
            raise Rejected(second.status, second.reason, detail) from None

    def identify_event(self, scope: dict[str, Any]) -> tuple[str, str | int | None]:
        """Type and id of an event. Raises `Rejected` where there is no event."""
        type_ = self._type(scope)
        if not isinstance(type_, str) or not type_:
            raise unreadable_body("not an event: it names no type")
        if len(type_) > _MAX_TYPE_LENGTH or not (type_.isascii() or _is_text(type_)):
            raise unreadable_body("not an event: its type is too long, or no text")
        id_ = self._id(scope)
        if isinstance(id_, str):
            if len(id_) > _MAX_ID_LENGTH or not (id_.isascii() or _is_text(id_)):
                raise unreadable_body("not an event: its id is too long, or no text")
            return type_, id_ or None
        if id_ is not None and (isinstance(id_, bool) or not isinstance(id_, int)):
            raise unreadable_body("not an event: its id is neither text nor an integer")
        if id_ is not None and abs(id_) >= _ID_BOUND:
            raise unreadable_body("not an event: its id is too long")
        return type_, id_

    def unregistered_claims(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The body of an event that has none: the claims beside the registered ones, or nothing."""
        if self.tokens is None:
            return {}
        return {name: value for name, value in payload.items() if name not in self.registered}


def _without_body(headers: Headers, query: bytes) -> dict[str, Any]:
    return {"payload": None, "headers": text_headers(headers), "query": query_values(query)}


def _is_text(text: str) -> bool:
    """Whether it can be written down: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Which sources may be served although nothing proves their deliveries genuine.


def check_proofs(sources: Sequence[Source], *, insecure: bool, is_public: bool) -> list[str]:
    """The names of the sources that are served unverified. Raises `UsageError` for one that must not be.

    A source that defines a proof and has no secret for it is a mistake, and a mistake must not let everybody in, unless
    its definition says otherwise: always, or (`local`) where somebody tries things out, because nothing at all is
    configured and only this host can connect. Then what defines no proof is served too.
    """
    without = [source for source in sources if not source.is_verified]
    trying = len(without) == len(sources) and not is_public
    for source in without:
        said = source.definition.get("unverified")
        is_meant = said is True or (trying and (said == "local" or not _defines_proof(source)))
        if not (insecure or is_meant):
            hint = _remedy_for_source(source, is_first=source is sources[0], is_public=is_public)
            raise UsageError(f"source {source.name!r}: it has no secret or key set to verify events with", hint=hint)
    return [source.name for source in without]


def _defines_proof(source: Source) -> bool:
    return proof_definition(source.definition) is not None or "jwt" in source.definition


def _remedy_for_source(source: Source, *, is_first: bool, is_public: bool) -> str:
    """Options give the proof of the first source only."""
    shared, jwt = proof_definition(source.definition), source.definition.get("jwt")
    variable = variable_of(source.definition)
    ways = [f"set {variable}"] if variable is not None else []
    claims = jwt.get("claims", {}) if jwt else {}
    ways += [f"set {' and '.join(claims.values())}"] if claims else []
    if is_first:
        ways += ["give --secret-file"] if shared else []
        ways += ["give --jwks-url"] if jwt else []
    elif not ways:
        ways = ["name it first, and give its proof with options"] if shared or jwt else []
    words = ", ".join((*PROOFS, "jwt"))
    who = "anyone who can reach this host" if is_public else "any program on this host"
    return f"{', or '.join(ways) or f'define {words} for it'}; with --insecure {who} can send events"


# From definitions, options and variables to sources that can tell what is genuine.

# Secrets from options: as they are, in files, kept under names.
GivenSecrets = tuple[Sequence[str], Sequence[str], Sequence[str]]


class ProofSettings:
    """`prefix` is that of the program's variables; `is_shared`: other processes use the same copies of key sets."""

    def __init__(
        self, catalog: Catalog, environ: Mapping[str, str], prefix: str, note: Callable[[str], None], *, is_shared: bool
    ) -> None:
        self._catalog = catalog
        self._environ = environ
        self._prefix = prefix
        self._note = note
        self._is_shared = is_shared

    def make_source(
        self, name: str, given: GivenSecrets, keys: KeySet | None, public_url: str, *, signs_nothing: bool = False
    ) -> Source:
        """`signs_nothing` where deliveries were proved elsewhere. Raises `UsageError` for what cannot be a proof."""
        definition = self._catalog.sources.get(name)
        jwt = definition.get("jwt", {})
        shared = proof_definition(definition)
        if shared is None and any(given) and "env" not in jwt:
            raise UsageError(f"source {name!r} does not use a shared secret or public key: leave out the secret")
        secrets = self._secrets_of_source(given, shared.get("env")) if shared is not None else []
        token_secrets = self._secrets_of_source(given, jwt["env"]) if "env" in jwt else []
        proving = shared.get("env") if shared is not None else None
        challenges = [self._make_challenge(each, proving, secrets) for each in definition.get("challenge", ())]
        try:
            source = Source(
                name, definition, secrets, keys, challenges, public_url, self.expected_claims(name), token_secrets
            )
        except UsageError as error:  # of its secrets, which it does not show
            raise UsageError(f"source {name!r}: {error.message}", hint=error.hint) from None
        if source.signs_url and secrets and not (public_url or signs_nothing):
            hint = "give --public-url https://HOST: what its sender calls, without the path"
            raise UsageError(f"source {name!r}: its signatures cover the address that is called", hint=hint)
        return source

    def _make_challenge(
        self, definition: shape.ChallengeDefinition, proving: str | None, secrets: list[str]
    ) -> Challenge:
        """A question with the secret of deliveries takes it from wherever theirs comes."""
        variable = definition.get("token", {}).get("env")
        is_same = variable is not None and variable == proving
        return Challenge(definition, secrets if is_same else self._secrets_of_source(((), (), ()), variable))

    def _secrets_of_source(self, given: GivenSecrets, variable: str | None) -> list[str]:
        return collect_secrets(*given, variable, self._environ, self._prefix, self._catalog.program)

    def expected_claims(self, name: str) -> dict[str, list[str]]:
        """The values that claims of a source's tokens may have, as its variables say."""
        named = self._catalog.sources.get(name).get("jwt", {}).get("claims", {})
        return {claim: self._secrets_of_source(((), (), ()), variable) for claim, variable in named.items()}

    def key_set(
        self, name: str, chosen: str | None, switches: frozenset[str]
    ) -> tuple[KeySet | None, Callable[[], Any] | None]:
        """The key set for a source's tokens, if any is used, and what closes its connections."""
        jwt = self._catalog.sources.get(name).get("jwt")
        if jwt is None or "env" in jwt:
            if chosen is not None:
                raise UsageError(f"source {name!r} does not use signed tokens: leave out the key set")
            return None, None
        # An empty address is a wrong one: taken for none, nothing would be verified.
        is_wanted = "switch" not in jwt or jwt["switch"] in switches
        url = chosen if chosen is not None else jwt.get("vendor") if is_wanted else None
        missing = [jwt["claims"][claim] for claim, values in self.expected_claims(name).items() if not values]
        if missing and chosen is not None:
            raise UsageError(
                f"source {name!r}: {missing[0]} is not set", hint="it says which tokens of that key set are meant"
            )
        if url is None or missing:
            return None, None
        check_url(url, "--jwks-url" if chosen is not None else "key set")
        fetch, close = make_fetcher(url)
        copy = KeySetCache(cache_directory(self._environ), url, is_shared=self._is_shared)
        keys = KeySet(jwt, fetch, copy, self._note)
        keys.load_cache()
        return keys, close
