"""Signed tokens: what passes, and every way to forge one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.catalog.catalog import open_catalog
from callsheet.listener.verify.key_set import KeysById, UnknownKey, read_keys
from callsheet.listener.verify.payload import Rejected, not_genuine
from callsheet.listener.verify.signed_tokens import TokenVerifier
from callsheet.listener.verify.source import Source
from support.keysets import encode, jwk, private_key, token

DEFINITION: Any = {"algorithms": ["RS256"], "unquote": True, "leeway": "60s"}
CLAIMS = {"id": "1", "event_type": "grade_change", "body": {"user_id": 21070000000000145}}
KEYS: KeysById = read_keys(json.dumps({"keys": [jwk("k1"), jwk("k2", private_key(1))]}).encode(), frozenset({"RS256"}))


def find(kid: str | None, algorithm: str) -> Any:
    key = KEYS.get((kid, algorithm))
    if key is None:
        raise not_genuine("token_key", "unknown")
    return key


def check(text: str | bytes, now: float = 1000, **definition: Any) -> dict[str, Any]:
    body = text.encode() if isinstance(text, str) else text
    verifier = TokenVerifier({**DEFINITION, **definition})
    return verifier.verified_claims(verifier.token_of([], body), find, now)[0]


@pytest.mark.parametrize(
    ("header", "reason", "detail"),
    [
        ({"kid": 1}, "token_malformed", "the token's key id is not a text"),
        ({"kid": "k" * 1000}, "token_malformed", "the token's key id is not a text"),
        ({"kid": "k1", "crit": []}, "token_malformed", "the token's header has critical extensions"),
        ({"kid": "k1", "alg": "none"}, "token_algorithm", "algorithm 'none' is not accepted"),
        ({"kid": "k1", "alg": None}, "token_algorithm", "algorithm 'None' is not accepted"),
        ({"kid": "k1", "alg": ["RS256"]}, "token_algorithm", "algorithm \"['RS256']\" is not accepted"),
        ({"kid": "k1", "alg": {}}, "token_algorithm", "algorithm '{}' is not accepted"),
        ({"kid": "k1", "x": "x" * 10_000}, "token_malformed", "the token's header is too long"),
    ],
)
def test_what_is_wrong_with_a_header_is_said_before_any_key_is_looked_for(
    header: dict[str, Any], reason: str, detail: str
) -> None:
    def never(_kid: str | None, _algorithm: str) -> Any:
        raise AssertionError

    with pytest.raises(Rejected) as caught:
        TokenVerifier(DEFINITION).verified_claims(token(CLAIMS, **header).encode(), never, 1000)
    assert (caught.value.status, caught.value.reason, caught.value.detail) == (401, reason, detail)


@pytest.mark.parametrize("form", ["{}", '"{}"', "{}\n", '"{}"\n', " {} \r\n"])
def test_a_token_arrives_bare_or_in_quotes(form: str) -> None:
    assert check(form.format(token(CLAIMS))) == CLAIMS


def test_quotes_are_taken_away_only_where_the_definition_says_so() -> None:
    quoted = f'"{token(CLAIMS)}"'.encode()
    with pytest.raises(Rejected, match=r"not JSON|base64url"):
        check(quoted, unquote=False)


def test_each_key_of_the_set_proves_its_own_tokens_only() -> None:
    assert check(token(CLAIMS, "k2", private_key(1))) == CLAIMS
    with pytest.raises(Rejected, match="was not made with key 'k2'"):
        check(token(CLAIMS, "k2", private_key(0)))


def hs256(key: bytes) -> str:
    """A token whose "secret" is a public key, for a verifier that lets the token choose the algorithm."""
    signed = f"{encode(json.dumps({'alg': 'HS256', 'kid': 'k1'}).encode())}.{encode(json.dumps(CLAIMS).encode())}"
    return f"{signed}.{encode(hmac.digest(key, signed.encode(), hashlib.sha256))}"


PUBLIC = (
    private_key().public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
)
EVIL = jwk("k1", private_key(2))
NO_ALGORITHM = b'{"alg": "none", "kid": "k1"}'
FORGED = {
    "no algorithm": f"{encode(NO_ALGORITHM)}.{encode(json.dumps(CLAIMS).encode())}.",
    "HS256 keyed with the public key": hs256(PUBLIC),
    "another algorithm": token(CLAIMS, alg="PS256"),
    "a key in the header": token(CLAIMS, "k1", private_key(2), jwk=EVIL),
    "a key set in the header": token(CLAIMS, "k1", private_key(2), jku="https://example.org/jwks"),
    "a certificate in the header": token(CLAIMS, "k1", private_key(2), x5u="https://example.org/x", x5c=["MII"]),
    "a critical extension": token(CLAIMS, crit=["exp"]),
    "an unknown key": token(CLAIMS, "k9"),
    "a key id that is no text": token(CLAIMS, 7),
    "no signature": token(CLAIMS).rpartition(".")[0] + ".",
    "a changed payload": ".".join(
        [token(CLAIMS).split(".")[0], encode(b'{"event_type":"x"}'), token(CLAIMS).split(".")[2]]
    ),
    "four parts": token(CLAIMS) + ".x",
    "two parts": token(CLAIMS).rpartition(".")[0],
    "a header that is a list": f"{encode(b'[]')}.e30.x",
    "deep nesting in the header": f"{encode(b'[' * 2000)}.e30.x",
    "padding": token(CLAIMS) + "==",
    "expired": token({**CLAIMS, "exp": 900}),
    "not valid yet": token({**CLAIMS, "nbf": 1100}),
    "an expiry that is no number": token({**CLAIMS, "exp": "9999999999"}),
    "an expiry that is true": token({**CLAIMS, "exp": True}),
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED.keys())
def test_a_forged_token_is_refused(text: str) -> None:
    with pytest.raises(Rejected) as refused:
        check(text)
    assert refused.value.status == 401


@pytest.mark.parametrize("entry", [{"use": "enc"}, {"alg": "RS512"}, {"key_ops": ["sign"]}, {"kty": "EC"}])
def test_a_key_for_something_else_is_not_used(entry: dict[str, Any]) -> None:
    text = json.dumps({"keys": [jwk("k1", **entry), jwk("k2", private_key(1))]}).encode()
    assert {kid for kid, _ in read_keys(text, frozenset({"RS256"}))} == {"k2"}


def test_an_octet_key_and_a_short_one_are_not_used() -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    octets = {"kty": "oct", "k": base64.urlsafe_b64encode(b"x" * 32).decode(), "kid": "o", "alg": "RS256"}
    with pytest.raises(ValueError, match="no usable key"):
        read_keys(json.dumps({"keys": [octets, jwk("s", short)]}).encode(), frozenset({"RS256"}))


def test_times_have_leeway() -> None:
    assert check(token({**CLAIMS, "exp": 940, "nbf": 1060}))["exp"] == 940
    for late in ({"exp": 939}, {"nbf": 1061}, {"exp": False}, {"nbf": "1000"}):
        with pytest.raises(Rejected):
            check(token({**CLAIMS, **late}))
    assert check(token({**CLAIMS, "exp": 10**400, "nbf": -(10**400)}))
    for never in ({"exp": -(10**400)}, {"nbf": 10**400}):
        with pytest.raises(Rejected):
            check(token({**CLAIMS, **never}))


def test_a_header_and_a_key_id_may_be_as_long_as_their_limits() -> None:
    seen = []

    def never(kid: str | None, _algorithm: str) -> Any:
        seen.append(kid)
        raise not_genuine("token_key", "unknown")

    def header(size: int) -> str:
        """A token whose header has this size in base64url."""
        usual = len(base64.urlsafe_b64decode(token(CLAIMS, x="").partition(".")[0] + "=="))
        made = token(CLAIMS, x="x" * (size * 3 // 4 - usual))
        assert made.index(".") == size
        return made

    for text in (token(CLAIMS, "k" * 256), header(4096)):
        with pytest.raises(Rejected, match="unknown"):
            TokenVerifier(DEFINITION).verified_claims(text.encode(), never, 1000)
    assert seen == ["k" * 256, "k1"]
    for text, why in ((token(CLAIMS, "k" * 257), "not a text"), (header(4098), "too long")):
        with pytest.raises(Rejected, match=why):
            TokenVerifier(DEFINITION).verified_claims(text.encode(), never, 1000)


def test_headers_are_remembered_up_to_a_number() -> None:
    """Only of genuine tokens; what was remembered passes as before."""
    verifier = TokenVerifier(DEFINITION)
    with pytest.raises(Rejected):
        verifier.verified_claims(token(CLAIMS, "k1", private_key(1)).encode(), find, 1000)
    counts = []
    for number in range(66):
        for _ in range(2):
            assert verifier.verified_claims(token(CLAIMS, number=number).encode(), find, 1000)[0] == CLAIMS
        counts.append(len(verifier._known_headers))
    assert counts == [*range(1, 65), 1, 2]


def test_issuer_and_audience_are_checked_when_configured() -> None:
    text = token({**CLAIMS, "iss": "https://a", "aud": ["x", "y"]})
    assert check(text, issuer=["https://a"], audience=["y"])
    with pytest.raises(Rejected, match="issued by"):
        check(text, issuer=["https://b"])
    with pytest.raises(Rejected, match="meant for"):
        check(text, audience=["z"])
    with pytest.raises(Rejected):
        check(token(CLAIMS), issuer=["https://a"])
    with pytest.raises(Rejected, match="meant for"):
        check(token(CLAIMS), audience=["x"])


@pytest.mark.parametrize("odd", [["https://a"], {}, [[]], [{"y": 1}], 1])
def test_issuers_and_audiences_that_are_no_texts_are_not_those_that_are_wanted(odd: Any) -> None:
    for claims, wanted in (({"iss": odd}, {"issuer": ["https://a"]}), ({"aud": odd}, {"audience": ["y"]})):
        with pytest.raises(Rejected) as caught:
            check(token({**CLAIMS, **claims}), **wanted)
        assert caught.value.status == 401


@settings(max_examples=200)
@given(st.one_of(st.binary(max_size=200), st.from_regex(rb"[A-Za-z0-9_=.-]{0,60}", fullmatch=True)))
def test_any_bytes_are_refused_and_never_break(data: bytes) -> None:
    with pytest.raises(Rejected):
        check(data)


@settings(max_examples=100)
@given(
    st.one_of(
        st.none(),
        st.text(max_size=20),
        st.recursive(st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(max_size=5), x)),
    )
)
def test_any_claims_are_an_object_or_refused(claims: Any) -> None:
    if isinstance(claims, dict) and not {"exp", "nbf"} & set(claims):
        assert check(token(claims)) == claims
    elif not isinstance(claims, dict):
        with pytest.raises(Rejected) as refused:
            check(token(claims))
        assert refused.value.status == 400


MEMBERS = st.sampled_from(["kty", "n", "e", "kid", "use", "alg", "key_ops"])
VALUES = st.one_of(
    st.sampled_from(["RSA", "AQAB", "sig"]), st.text(max_size=8), st.integers(), st.none(), st.lists(st.integers())
)
SETS = st.dictionaries(st.sampled_from(["keys", "x"]), st.lists(st.dictionaries(MEMBERS, VALUES)))


@settings(max_examples=150)
@given(st.one_of(st.binary(max_size=100), SETS.map(lambda document: json.dumps(document).encode())))
def test_any_key_set_is_read_or_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_keys(data, frozenset({"RS256"}))


@pytest.mark.parametrize("time", [10**400, 10**4000, 1e308])
def test_times_of_any_size_are_times(time: float) -> None:
    assert check(token({"exp": time}))
    with pytest.raises(Rejected, match="not valid before") as early:
        check(token({"nbf": time}))
    with pytest.raises(Rejected, match="expired at") as late:
        check(token({"exp": -time}))
    assert early.value.status == late.value.status == 401


def test_a_genuine_token_that_is_no_event_is_a_bad_request_with_and_without_a_secret() -> None:
    hmac_definition = {"header": "X-S", "algorithm": "sha256", "encoding": "hex"}
    definition: Any = {
        "title": "t",
        "path": "/t",
        "type": "payload.event_type",
        "jwt": DEFINITION,
        "hmac": hmac_definition,
    }

    class Keys:
        find_key = staticmethod(find)

    keys: Any = Keys()
    for secrets in ((), ("a secret",)):
        source = Source("t", definition, secrets, keys)
        for claims in ([], 5, "x", None, {}, {"event_type": 5}):
            with pytest.raises(Rejected) as refused:
                source.receive_event([], b"", token(claims).encode(), 1000)
            assert refused.value.status == 400, claims
        with pytest.raises(Rejected) as refused:
            source.receive_event([], b"", token(CLAIMS, "k2", private_key(0)).encode(), 1000)
        assert refused.value.status == 401


def test_where_a_token_and_a_signature_may_prove_it_the_key_is_looked_for_before_both_are_refused() -> None:
    definition: Any = {
        "path": "/t", "type": "payload.event_type", "jwt": DEFINITION,
        "hmac": {"header": "X-S", "algorithm": "sha256", "encoding": "hex"},
    }  # fmt: skip

    def unknown(kid: str | None, algorithm: str) -> Any:
        raise UnknownKey(kid, algorithm)

    keys: Any = SimpleNamespace(find_key=unknown)
    source = Source("t", definition, ["a secret"], keys)
    with pytest.raises(UnknownKey):
        source.receive_event([], b"", token(CLAIMS, "new").encode(), 1000)
    with pytest.raises(Rejected) as refused:
        source.receive_event([], b"", b"no token", 1000)
    assert refused.value.reason == "signature_missing"
    assert refused.value.detail == "the body is not a signed token; no X-S header"
    data = json.dumps(CLAIMS).encode()
    signed = hmac.digest(b"a secret", data, "sha256").hex().encode()
    assert source.receive_event([(b"x-s", signed)], b"", data, 1000).id is None


@pytest.mark.parametrize("body", [{}, [], "", 0, False])
def test_an_empty_body_stays_the_body_also_of_a_token(body: Any) -> None:
    catalog = open_catalog("lms", os.environ)
    try:
        definition: Any = catalog.sources.get("lms")
    finally:
        catalog.close()
    keys: Any = SimpleNamespace(find_key=find)
    made = Source("lms", definition, (), keys)
    claims = {"event_type": "grade_change", "body": body, "iss": "x", "extra": 1}
    event = made.receive_event([], b"", token(claims).encode(), 1000)
    assert event.record["body"] == body
    del claims["body"]
    assert made.receive_event([], b"", token(claims).encode(), 1000).record["body"] == {
        "event_type": "grade_change",
        "extra": 1,
    }
    claims["data"] = body
    assert made.receive_event([], b"", token(claims).encode(), 1000).record["body"] == body
