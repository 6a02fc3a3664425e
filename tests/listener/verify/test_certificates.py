"""Signatures by a certificate that a delivery names: SNS and PayPal, with deliveries as their pages show them."""

from __future__ import annotations

import asyncio
import base64
import json
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from callsheet.listener.verify.certificate import CertificateSignature, UnknownCertificate
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.source import Challenge, Challenged, Source
from support.listening import listening
from support.server import exchange, reply, serve
from support.tls import Authority

from .test_senders import definition

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
TOPIC = "arn:aws:sns:us-west-2:123456789012:MyTopic"
WEBHOOK = "9XL90610J3647323C"
AT = datetime(2012, 5, 2, 0, 54, 6, tzinfo=UTC)
SNS_CERT = "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"
PAYPAL_CERT = "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77"
NOTIFICATION = {
    "Type": "Notification",
    "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    "TopicArn": TOPIC,
    "Subject": "My First Message",
    "Message": "Hello world!",
    "Timestamp": "2012-05-02T00:54:06.655Z",
    "SignatureVersion": "2",
    "SigningCertURL": SNS_CERT,
    "UnsubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=arn:aws:sns:us-west-2:1",
}
CONFIRMATION = {
    "Type": "SubscriptionConfirmation",
    "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
    "Token": "2336412f37f",
    "TopicArn": TOPIC,
    "Message": "You have chosen to subscribe to the topic.\nTo confirm the subscription, visit the SubscribeURL.",
    "SubscribeURL": f"https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37f",
    "Timestamp": "2012-05-02T00:54:06.655Z",
    "SignatureVersion": "2",
    "SigningCertURL": SNS_CERT,
}
PAYPAL = (
    b'{"id":"WH-9UG43882HX7271132-6E0871324L7949614","event_version":"1.0","create_time":"2016-09-21T22:00:45Z",'
    b'"resource_type":"sale","event_type":"PAYMENT.SALE.COMPLETED","summary":"Payment completed for $ 21.0 USD",'
    b'"resource":{"id":"80F85758S3080410K","state":"completed"}}'
)


def certificate(key: Any = KEY, *, days: int = 1, start: datetime | None = None) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    start = start or datetime.now(UTC) - timedelta(days=1)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(start).not_valid_after(start + timedelta(days=days + 1)).sign(KEY, hashes.SHA256())
    )  # fmt: skip
    return made.public_bytes(serialization.Encoding.PEM)


def signed(message: bytes, key: Any = KEY, algorithm: Any = None) -> str:
    return base64.b64encode(key.sign(message, padding.PKCS1v15(), algorithm or hashes.SHA256())).decode()


def sns_text(payload: dict[str, Any]) -> bytes:
    """As the page about verifying messages has it: names and values, each in a line, sorted by the names."""
    more = ("Subject",) if payload["Type"] == "Notification" else ("SubscribeURL", "Token")
    names = sorted(("Message", "MessageId", "Timestamp", "TopicArn", "Type", *more))
    return "".join(f"{name}\n{payload[name]}\n" for name in names if name in payload).encode()


def sns(payload: dict[str, Any], **changed: Any) -> bytes:
    return json.dumps({**payload, "Signature": signed(sns_text(payload)), **changed}).encode()


def paypal(body: bytes = PAYPAL, **changed: str) -> list[tuple[bytes, bytes]]:
    at, id = "2016-09-21T22:00:46Z", "d938e770-8046-11e6-8103-6b62a8a99ac4"
    headers = {
        "paypal-transmission-id": id,
        "paypal-transmission-time": at,
        "paypal-cert-url": PAYPAL_CERT,
        "paypal-auth-algo": "SHA256withRSA",
        "paypal-transmission-sig": signed(f"{id}|{at}|{WEBHOOK}|{zlib.crc32(body)}".encode()),
        **changed,
    }
    return [(name.encode(), text.encode()) for name, text in headers.items()]


class Sender:
    """A source whose certificates come from here; `asked` are the addresses."""

    def __init__(self, name: str, *values: str, answer: bytes | OSError | None = None) -> None:
        known = definition(name)
        self.source = Source(
            name, known, list(values), answers=[Challenge(each, []) for each in known.get("challenge", ())]
        )
        self.asked: list[str] = []
        self.clock = 100.0
        proof = self.source.proof
        assert isinstance(proof, CertificateSignature)

        async def fetch(url: str) -> bytes:
            self.asked.append(url)
            given = certificate() if answer is None else answer
            if isinstance(given, OSError):
                raise given
            return given

        proof.certificates._fetch = fetch
        proof.certificates._clock = lambda: self.clock

    def receive(self, headers: Any, body: bytes, now: float) -> Any:
        """As the listener does: what is unknown is fetched once, and then has to be known."""
        try:
            return self.source.receive_event(headers, b"", body, now)
        except UnknownCertificate as unknown:
            asyncio.run(self.source.fetch_key(unknown))
            return self.source.receive_event(headers, b"", body, now)


NOW = AT.timestamp()
PAYPAL_NOW = datetime(2016, 9, 21, 22, 0, 50, tzinfo=UTC).timestamp()


def test_messages_of_sns_are_proved_by_the_certificate_that_they_name() -> None:
    sender = Sender("sns", "arn:aws:sns:us-west-2:123456789012:Other", TOPIC)
    event = sender.receive([], sns(NOTIFICATION), NOW)
    assert (event.type, event.id, event.time) == ("Notification", NOTIFICATION["MessageId"], NOTIFICATION["Timestamp"])
    without = {name: value for name, value in NOTIFICATION.items() if name != "Subject"}
    assert sender.receive([], sns({**without, "Message": "a\nb {x} ü"}), NOW).type == "Notification"
    assert sender.asked == [SNS_CERT]  # once for all


def test_a_subscription_is_confirmed_by_asking_the_address_of_the_sender() -> None:
    with pytest.raises(Challenged) as caught:
        Sender("sns", TOPIC).receive([], sns(CONFIRMATION), NOW)
    assert caught.value.visit == CONFIRMATION["SubscribeURL"]


@pytest.mark.parametrize(
    "payload",
    [
        {**NOTIFICATION, "TopicArn": "arn:aws:sns:us-west-2:666666666666:Theirs"},  # genuine, but of somebody else
        {**NOTIFICATION, "Timestamp": "2012-05-01T00:54:06.655Z"},
        {**NOTIFICATION, "SigningCertURL": "https://evil.example/SimpleNotificationService-1.pem"},
        {**NOTIFICATION, "SigningCertURL": "https://sns.us-west-2.amazonaws.com.evil.example/SimpleNotificationService-1.pem"},
        {**NOTIFICATION, "SigningCertURL": "http://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem"},
        {**NOTIFICATION, "SigningCertURL": "https://sns.us-west-2.amazonaws.com/a/../SimpleNotificationService-1.pem"},
        {**NOTIFICATION, "SigningCertURL": f"{SNS_CERT}\n"},
        {**NOTIFICATION, "SigningCertURL": f"https://u@{SNS_CERT.removeprefix('https://')}"},
        {**NOTIFICATION, "SigningCertURL": 7},
    ],
)  # fmt: skip
def test_what_is_of_another_topic_time_or_address_is_refused(payload: dict[str, Any]) -> None:
    sender = Sender("sns", TOPIC)
    with pytest.raises(Rejected) as caught:
        sender.receive([], sns(payload), NOW)
    assert caught.value.status == 401
    assert [url for url in sender.asked if url != SNS_CERT] == []


@pytest.mark.parametrize(
    "changed",
    [
        {"Message": "Hello worlds!"},
        {"MessageId": "1"},
        {"Type": "SubscriptionConfirmation", "SubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&x"},
        {"Signature": ""},
        {"Signature": "ü"},
        {"Signature": None},
        {"Signature": signed(sns_text(NOTIFICATION), algorithm=hashes.SHA1())},
        {"Signature": signed(sns_text(NOTIFICATION), rsa.generate_private_key(public_exponent=65537, key_size=2048))},
    ],
)  # fmt: skip
def test_what_was_changed_or_signed_otherwise_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(Rejected) as caught:
        Sender("sns", TOPIC).receive([], sns(NOTIFICATION, **changed), NOW)
    assert caught.value.status == 401


def test_a_confirmation_that_leads_elsewhere_is_refused() -> None:
    with pytest.raises(Rejected, match="which is not the sender's"):
        Sender("sns", TOPIC).receive(
            [], sns({**CONFIRMATION, "SubscribeURL": "https://evil.example/?Action=Confirm"}), NOW
        )


def test_deliveries_of_paypal_are_proved_with_the_checksum_of_their_body() -> None:
    sender = Sender("paypal", WEBHOOK)
    event = sender.receive(paypal(), PAYPAL, PAYPAL_NOW)
    assert (event.type, event.id) == ("PAYMENT.SALE.COMPLETED", "WH-9UG43882HX7271132-6E0871324L7949614")
    assert event.scope["body"] == {"id": "80F85758S3080410K", "state": "completed"}
    for headers, body in (
        (paypal(), PAYPAL.replace(b"21.0", b"91.0")),
        (paypal(**{"paypal-transmission-id": "other"}), PAYPAL),
        (paypal(**{"paypal-cert-url": "https://evil.example/v1/notifications/certs/CERT-1"}), PAYPAL),
        (paypal(**{"paypal-transmission-sig": ""}), PAYPAL),
        ([], PAYPAL),
    ):
        with pytest.raises(Rejected) as caught:
            sender.receive(headers, body, PAYPAL_NOW)
        assert caught.value.status == 401
    with pytest.raises(Rejected):
        Sender("paypal", "8WH").receive(paypal(), PAYPAL, PAYPAL_NOW)


SMALL = rsa.generate_private_key(public_exponent=65537, key_size=1024)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (OSError("no whole answer within 5 s"), "no whole answer"),
        (b"not a certificate", ""),
        (certificate(SMALL), "2048 bits"),
        (certificate(start=datetime(2012, 1, 1, tzinfo=UTC)), "not valid now"),
    ],
    ids=["unreachable", "no certificate", "small", "expired"],
)
def test_without_a_usable_certificate_nobody_knows_and_it_is_not_asked_for_again_soon(answer: Any, words: str) -> None:
    sender = Sender("sns", TOPIC, answer=answer)
    for _ in range(3):
        with pytest.raises(Rejected) as caught:
            sender.receive([], sns(NOTIFICATION), NOW)
        assert caught.value.status == 503
        assert words in caught.value.detail
    assert len(sender.asked) == 1
    sender.clock += 60
    with pytest.raises(Rejected):
        sender.receive([], sns(NOTIFICATION), NOW)
    assert len(sender.asked) == 2


def test_forged_addresses_make_few_requests_and_keep_no_genuine_message_out() -> None:
    sender = Sender("sns", TOPIC)
    sender.receive([], sns(NOTIFICATION), NOW)
    for number in range(50):
        url = SNS_CERT.replace("f3ecfb", f"{number:06d}")
        with pytest.raises(Rejected):
            sender.receive([], sns({**NOTIFICATION, "SigningCertURL": url}, Signature="AAAA"), NOW)
    sender.receive([], sns(NOTIFICATION), NOW)
    assert len(sender.asked) <= 2


@pytest.mark.slow
def test_a_listener_fetches_the_certificate_and_confirms_the_subscription(tmp_path: Path) -> None:
    """Real processes, over TLS; the addresses that are allowed are those of this test."""
    authority = Authority(tmp_path)
    answers = [
        exchange("GET", "/cert.pem", reply(200, body=certificate())),
        exchange("GET", "/confirm", reply(200, body=b"<Confirmed/>")),
    ]
    with serve(answers, context=authority.server_context()) as server:
        base = server.url.replace("127.0.0.1", "localhost")
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        own = {"SigningCertURL": f"{base}/cert.pem", "SubscribeURL": f"{base}/confirm", "Timestamp": now}
        overlay = (
            "[extend.source.sns.certificate]\nallowed = 'https://localhost:\\d+/cert\\.pem'\n"
            "[extend.source.sns]\nchallenge = [{ when = \"payload.Type == 'SubscriptionConfirmation'\","
            " visit = \"{payload.SubscribeURL}\", allowed = 'https://localhost:\\d+/confirm' }]\n"
        )
        environ = {"SNS_TOPIC_ARN": TOPIC, "SSL_CERT_FILE": str(authority.bundle)}
        with listening(tmp_path, "--source", "sns", definitions=overlay, environ=environ) as listener:
            assert listener.post(sns({**CONFIRMATION, **own}), path="/sns").status == 204
            assert listener.post(sns({**NOTIFICATION, **own}), path="/sns").status == 200
            assert listener.post(sns({**NOTIFICATION, **own}, Message="x"), path="/sns").status == 401
            assert listener.stop() == 0
        assert [each.path for each in server.requests] == ["/cert.pem", "/confirm"]
