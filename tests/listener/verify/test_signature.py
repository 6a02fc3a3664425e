"""Each scheme against the vectors of its own documentation, and what must be refused."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.catalog.catalog import open_catalog
from callsheet.errors import UsageError
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.proofs import Signature, key_of


def scheme(source: str) -> Any:
    catalog = open_catalog("lms", os.environ)
    try:
        return catalog.sources.get(source)["hmac"]
    finally:
        catalog.close()


def lower(**headers: str) -> list[tuple[bytes, bytes]]:
    return [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()]


HELLO = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
STANDARD = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
TRACKER = "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"
# source, secret, headers, body, time
VECTORS = [
    ("lms", "It's a Secret to Everybody", {"x-lms-signature": HELLO}, b"Hello, World!", 0),
    ("github", "It's a Secret to Everybody", {"x-hub-signature-256": f"sha256={HELLO}"}, b"Hello, World!", 0),
    ("jira", "It's a Secret to Everybody", {"x-hub-signature": TRACKER}, b"Hello World!", 0),
    ("standard", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", STANDARD, b'{"test": 2432232314}', 1614265330),
]


@pytest.mark.parametrize(("source", "secret", "headers", "body", "now"), VECTORS, ids=[v[0] for v in VECTORS])
def test_the_documented_vector_passes(source: str, secret: str, headers: Any, body: bytes, now: int) -> None:
    given_headers = lower(**headers)
    Signature(scheme(source), [secret]).check_delivery(given_headers, body, now)
    Signature(scheme(source), ["whsec_b3RoZXI=", secret]).check_delivery(given_headers, body, now)
    with pytest.raises(Rejected) as refused:
        Signature(scheme(source), [secret]).check_delivery(given_headers, body + b" ", now)
    assert refused.value.status == 401
    with pytest.raises(Rejected, match=r"^no "):
        Signature(scheme(source), [secret]).check_delivery([], body, now)


# The vendor's construction: HMAC-SHA256 of "{t}.{body}", hexadecimal. Made with
# `(printf "1700000000."; cat body) | openssl dgst -sha256 -hmac SECRET`.
STRIPE_BODY = b'{\n  "id": "evt_1Sdocumented",\n  "object": "event",\n  "type": "invoice.paid"\n}'
STRIPE_TIME = 1_700_000_000
STRIPE_NEW = "2c1a2e77357e1129b81b28dbbc6761236b7e5060d468833322d228c9326b9187"  # whsec_test_secret
STRIPE_OLD = "b4ff1e5d38322aa8da8cfe8d6000f998b08e2079eaa7d950ca724fe274dfb17d"  # whsec_older


def stripe(timestamp: int, *signatures: str) -> list[tuple[bytes, bytes]]:
    return lower(Stripe_Signature=",".join([f"t={timestamp}", *(f"v1={each}" for each in signatures), "v0=00"]))


@pytest.mark.parametrize(
    "header",
    [
        f"t={STRIPE_TIME},v1={STRIPE_NEW}",
        f"t={STRIPE_TIME},v1={STRIPE_NEW},v0={STRIPE_OLD}",
        f"t={STRIPE_TIME},v1={STRIPE_OLD},v1={STRIPE_NEW}",
        f"t={STRIPE_TIME},v1={STRIPE_NEW},v1={STRIPE_OLD}",
        f"t={STRIPE_TIME}, v1={'0' * 64}, v1={STRIPE_NEW}",
    ],
)
def test_a_signed_timestamp_passes_with_any_of_several_signatures(header: str) -> None:
    checker = Signature(scheme("stripe"), ["whsec_test_secret"])
    for age in (0, 299, -299):
        checker.check_delivery(lower(Stripe_Signature=header), STRIPE_BODY, STRIPE_TIME + age)


def test_a_secret_that_is_being_replaced_still_passes() -> None:
    for given_secrets in (["whsec_test_secret", "whsec_older"], ["whsec_older"]):
        Signature(scheme("stripe"), given_secrets).check_delivery(
            stripe(STRIPE_TIME, STRIPE_OLD), STRIPE_BODY, STRIPE_TIME
        )


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (f"t={STRIPE_TIME + 1},v1={STRIPE_NEW}", "match"),
        (f"t={STRIPE_TIME},v1={STRIPE_OLD}", "match"),
        (f"t={STRIPE_TIME},v1={STRIPE_NEW.upper()}", "match"),
        (f"t={STRIPE_TIME},v0={STRIPE_NEW}", "Stripe-Signature"),
        (f"t={STRIPE_TIME}", "Stripe-Signature"),
        (f"v1={STRIPE_NEW}", "no timestamp"),
        (f"t=soon,v1={STRIPE_NEW}", "no timestamp"),
    ],
)
def test_a_signed_timestamp_is_refused(header: str, reason: str) -> None:
    checker = Signature(scheme("stripe"), ["whsec_test_secret"])
    with pytest.raises(Rejected, match=reason):
        checker.check_delivery(lower(Stripe_Signature=header), STRIPE_BODY, STRIPE_TIME)


@pytest.mark.parametrize("age", [301, 86_400, -301])
def test_a_genuine_delivery_of_another_time_is_refused(age: int) -> None:
    checker = Signature(scheme("stripe"), ["whsec_test_secret"])
    with pytest.raises(Rejected, match="signed at"):
        checker.check_delivery(stripe(STRIPE_TIME, STRIPE_NEW), STRIPE_BODY, STRIPE_TIME + age)


def test_what_is_sent_has_the_same_signature() -> None:
    made = Signature(scheme("stripe"), ["whsec_test_secret"]).headers_for(STRIPE_BODY, {}, STRIPE_TIME)
    assert made == {"Stripe-Signature": f"t={STRIPE_TIME},v1={STRIPE_NEW}"}


@pytest.mark.parametrize("source", ["lms", "github", "jira", "standard", "stripe"])
def test_a_delivery_made_here_passes_its_own_check(source: str) -> None:
    checker = Signature(scheme(source), ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
    own = {"webhook-id": "msg_1"}
    headers = own | checker.headers_for(b"{}", own, 1000)
    checker.check_delivery(lower(**headers), b"{}", 1000)


@pytest.mark.parametrize("value", [HELLO.upper(), f" {HELLO}", HELLO[:-1], "", "ü", f"sha256={HELLO}"])
def test_anything_but_lower_case_hexadecimal_is_refused(value: str) -> None:
    checker = Signature(scheme("lms"), ["It's a Secret to Everybody"])
    with pytest.raises(Rejected):
        checker.check_delivery([(b"x-lms-signature", value.encode("latin-1"))], b"Hello, World!", 0)


def test_of_two_signature_headers_any_may_match() -> None:
    checker = Signature(scheme("lms"), ["It's a Secret to Everybody"])
    checker.check_delivery([(b"x-lms-signature", b"00"), (b"x-lms-signature", HELLO.encode())], b"Hello, World!", 0)


@pytest.mark.parametrize("secret", [" abc", "abc ", "abc\n", "\tabc", ""])
def test_a_secret_with_whitespace_around_it_is_refused_without_showing_it(secret: str) -> None:
    with pytest.raises(UsageError) as error:
        key_of(secret, scheme("lms"))
    assert "abc" not in error.value.message
    assert "whitespace" in error.value.message or "empty" in error.value.message


@settings(max_examples=150)
@given(st.binary(max_size=80), st.binary(max_size=40), st.sampled_from(["lms", "standard", "stripe"]))
def test_any_header_is_refused_or_passes_and_never_breaks(value: bytes, body: bytes, source: str) -> None:
    definition = SCHEMES[source]
    checker = Signature(definition, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
    names = {definition["header"], definition.get("timestamp", {}).get("header", "x")}
    with pytest.raises(Rejected):
        checker.check_delivery([(name.lower().encode(), value) for name in names], body, 0)


SCHEMES = {source: scheme(source) for source in ("lms", "standard", "stripe")}
