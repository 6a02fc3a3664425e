"""Our senders beside the libraries that these hand out: each accepts what the other signs, and refuses what it refuses.

A test is skipped where its library is not installed.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from callsheet.listener.simulated_deliveries import make_payload, plain_delivery
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.source import Source

from .test_senders import definition

BASE = "https://hooks.example.com"
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TEXT = "a-secret-that-is-long-enough-for-everybody"
HEX = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
Headers = dict[str, str]


class Delivered(NamedTuple):
    """`key` is what the receiver has: the secret, or the public half of it."""

    key: str
    url: str
    headers: Headers
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Library(NamedTuple):
    """`verify` tells, or raises, whether a delivery is genuine; `sign` gives the headers of one, where it can."""

    module: str
    secret: str
    verify: Callable[[Any, Delivered], Any]
    sign: Callable[[Any, Delivered], Headers] | None = None
    public: str = ""


def _private(key: Any) -> str:
    return base64.b64encode(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())).decode()


_EC, _ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
_EC_PUBLIC = base64.b64encode(_EC.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()
_ED_PUBLIC = _ED.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
_ED_SEED = _ED.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()).hex()


def _webhook(prefix: str) -> Callable[[Any, Delivered], Headers]:
    def sign(library: Any, sent: Delivered) -> Headers:
        at = datetime.now(UTC).replace(microsecond=0)
        signature = library.Webhook(sent.key).sign("msg_1", at, sent.text)
        return {
            f"{prefix}-id": "msg_1",
            f"{prefix}-timestamp": f"{at.timestamp():.0f}",
            f"{prefix}-signature": signature,
        }

    return sign


def _slack(library: Any, sent: Delivered) -> Headers:
    at = str(int(time.time()))
    made = library.SignatureVerifier(sent.key).generate_signature(timestamp=at, body=sent.body)
    return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": made}


def _hubspot(library: Any, sent: Delivered) -> Headers:
    at = str(int(time.time() * 1000))
    made = library.Signature.get_signature(sent.key, sent.text, "v3", sent.url, "POST", at)
    return {"X-HubSpot-Request-Timestamp": at, "X-HubSpot-Signature-v3": made}


def _same_hubspot(library: Any, sent: Delivered) -> bool:
    """Its own check takes times in milliseconds alone, as HubSpot sends them; ours are in seconds."""
    at = sent.headers["X-HubSpot-Request-Timestamp"]
    made = library.Signature.get_signature(sent.key, sent.text, "v3", sent.url, "POST", at)
    return bool(made == sent.headers["X-HubSpot-Signature-v3"])


def _form(sent: Delivered) -> dict[str, str]:
    return dict(parse_qsl(sent.text, keep_blank_values=True))


LIBRARIES: dict[str, Library] = {
    "standard": Library(
        "standardwebhooks", WHSEC,
        lambda library, sent: library.Webhook(sent.key).verify(sent.body, sent.headers), _webhook("webhook"),
    ),
    "svix": Library(
        "svix.webhooks", WHSEC,
        lambda library, sent: library.Webhook(sent.key).verify(sent.body, sent.headers) or True, _webhook("svix"),
    ),
    "stripe": Library(
        "stripe", TEXT,
        lambda library, sent: library.WebhookSignature.verify_header(
            sent.body, sent.headers["Stripe-Signature"], sent.key, 300
        ),
        lambda library, sent: {
            "Stripe-Signature": library.WebhookSignature.generate_signature_header(sent.text, sent.key)
        },
    ),
    "slack": Library(
        "slack_sdk.signature", TEXT,
        lambda library, sent: library.SignatureVerifier(sent.key).is_valid_request(sent.body, sent.headers), _slack,
    ),
    "twilio": Library(
        "twilio.request_validator", TEXT,
        lambda library, sent: library.RequestValidator(sent.key).validate(
            sent.url, _form(sent), sent.headers["X-Twilio-Signature"]
        ),
        lambda library, sent: {
            "X-Twilio-Signature": library.RequestValidator(sent.key).compute_signature(sent.url, _form(sent))
        },
    ),
    "hubspot": Library(
        "hubspot.utils.signature", TEXT,
        _same_hubspot,
        _hubspot,
    ),
    "square": Library(
        "square.utils.webhooks_helper", TEXT,
        lambda library, sent: library.verify_signature(
            request_body=sent.text, signature_header=sent.headers["X-Square-HmacSha256-Signature"],
            signature_key=sent.key, notification_url=sent.url,
        ),
    ),
    "github": Library(
        "gidgethub.sansio", TEXT,
        lambda library, sent: library.validate_event(
            sent.body, signature=sent.headers["X-Hub-Signature-256"], secret=sent.key
        ) or True,
    ),
    "discord": Library(
        "discord_interactions", _ED_SEED,
        lambda library, sent: library.verify_key(
            sent.body, sent.headers["X-Signature-Ed25519"], sent.headers["X-Signature-Timestamp"], sent.key
        ),
        public=_ED_PUBLIC,
    ),
    "sendgrid": Library(
        "sendgrid.helpers.eventwebhook", _private(_EC),
        lambda library, sent: library.EventWebhook(sent.key).verify_signature(
            sent.text, sent.headers["X-Twilio-Email-Event-Webhook-Signature"],
            sent.headers["X-Twilio-Email-Event-Webhook-Timestamp"],
        ),
        public=_EC_PUBLIC,
    ),
    "adyen": Library(
        "Adyen.util", HEX, lambda library, sent: library.is_valid_hmac_notification(json.loads(sent.body), sent.key)
    ),
    "jira-connect": Library(
        "atlassian_jwt", TEXT,
        lambda library, sent: _tenant(library, sent).authenticate(
            "POST", "/jira-connect", {"authorization": sent.headers["Authorization"]}
        ) or True,
        lambda library, sent: {
            "Authorization": f"JWT {library.encode_token('POST', '/jira-connect', 'key', sent.key)}"
        },
    ),
}  # fmt: skip


def _tenant(library: Any, sent: Delivered) -> Any:
    class Tenants(library.Authenticator):  # type: ignore[misc]
        def get_shared_secret(self, client_key: str) -> Any:
            return sent.key

    return Tenants()


def known(name: str) -> tuple[Any, Source, Delivered]:
    """The library, our source with the same secret, and a delivery that we sign."""
    library = LIBRARIES[name]
    module = pytest.importorskip(library.module)
    about = definition(name)
    key = library.public or library.secret
    given = {"token_secrets": [key]} if name == "jira-connect" else {"secrets": [key]}
    source = Source(name, about, public_url=BASE, **given)
    body = {"text": "Hello", "from": "+1", "to": "+2", "amount": {"value": 1130, "currency": "EUR"}, "reference": "r"}
    payload, headers = make_payload(about, "test.event", body, "e-1", ())
    sent = plain_delivery(about, payload, headers, library.secret, f"{BASE}{about['path']}")
    return module, source, Delivered(key, f"{BASE}{about['path']}", dict(sent.headers), sent.body)


def ours(source: Source, sent: Delivered) -> bool:
    headers = [(name.lower().encode(), text.encode()) for name, text in sent.headers.items()]
    try:
        source.receive_events(headers, b"", sent.body, time.time())
    except Rejected as refused:
        return refused.status != 401
    return True


def theirs(name: str, module: Any, sent: Delivered) -> bool:
    """Whatever a library raises for what is wrong. None is a yes of those that raise."""
    try:
        return LIBRARIES[name].verify(module, sent) is not False
    except Exception:  # noqa: BLE001 - each has errors of its own
        return False


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_library_takes_what_we_sign_and_refuses_what_we_refuse(name: str) -> None:
    module, source, sent = known(name)
    assert ours(source, sent)
    assert theirs(name, module, sent)
    changed = sent._replace(body=sent.body.replace(b"test.event", b"tent.event").replace(b"Hello", b"Hallo"))
    assert changed != sent
    if name != "jira-connect":  # whose tokens say nothing about the body
        assert not ours(source, changed)
        assert not theirs(name, module, changed)
    for header in set(sent.headers) & {"Authorization", "Stripe-Signature", "X-Hub-Signature-256"}:
        cut = sent._replace(headers={**sent.headers, header: sent.headers[header][:-4] + "0000"})
        assert not ours(source, cut)
        assert not theirs(name, module, cut)


@pytest.mark.parametrize("name", [name for name, library in LIBRARIES.items() if library.sign is not None])
def test_we_take_what_the_library_signs_and_nothing_else(name: str) -> None:
    module, source, sent = known(name)
    sign = LIBRARIES[name].sign
    assert sign is not None
    signed = sent._replace(headers={**sent.headers, **sign(module, sent)})
    assert ours(source, signed)
    other = sent._replace(
        key="whsec_" + base64.b64encode(b"x" * 24).decode() if name in ("standard", "svix") else "y" * 40
    )
    assert not ours(source, sent._replace(headers={**sent.headers, **sign(module, other)}))
    if name != "jira-connect":
        assert not ours(source, signed._replace(body=sent.body + (b"&a=b" if name == "twilio" else b" ")))
