"""`webhook trigger` and `webhook events` as a person at the shell sees them."""

from __future__ import annotations

import base64
import hmac
import json
import sys
from pathlib import Path

import pytest

from callsheet.cli.builtin import trigger
from callsheet.listener.verify.proofs import other_spellings
from support.canary import given_file
from support.listening import SECRET, listening, run, until

TYPES = [
    "assignment_created",
    "assignment_updated",
    "assignment_deleted",
    "submission_created",
    "submission_updated",
    "grade_change",
    "enrollment_created",
    "enrollment_updated",
    "enrollment_deleted",
    "user_created",
    "user_updated",
    "course_created",
    "course_updated",
    "course_completed",
    "discussion_topic_created",
    "discussion_entry_created",
    "quiz_submitted",
    "conversation_created",
    "conversation_message_created",
]


@pytest.mark.parametrize(
    ("to", "url"),
    [
        (None, "http://127.0.0.1:8080/webhook"),
        (":9000", "http://127.0.0.1:9000/webhook"),
        ("box.example:9000", "http://box.example:9000/webhook"),
        ("https://box.example/hook", "https://box.example/hook"),
    ],
)
def test_a_listener_is_found_by_what_its_addr_is_called(to: str | None, url: str) -> None:
    assert trigger.listener_url(to, "/webhook") == url


def test_events_are_listed_in_order_in_every_format(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, "events", "-o", "json").stdout)
    assert [each["type"] for each in found] == TYPES
    assert list(dict.fromkeys(each["category"] for each in found)) == [
        "Assignment", "Submission", "Enrollment", "User", "Course", "Discussion", "Quiz", "Conversation",
    ]  # fmt: skip
    assert run(tmp_path, "events", "-o", "id").stdout.split() == TYPES
    assert run(tmp_path, "events", "-o", "csv").stdout.splitlines()[:2] == [
        "TYPE,CATEGORY",
        "assignment_created,Assignment",
    ]
    assert [line.split()[0] for line in run(tmp_path, "events").stdout.splitlines()] == ["TYPE", *TYPES]
    summaries = run(tmp_path, "events", "--columns", "SUMMARY", "-o", "csv").stdout.splitlines()
    assert "user {user_id} got {grade} on assignment {assignment_id}" in summaries
    assert len(run(tmp_path, "events", "-o", "ndjson").stdout.splitlines()) == 19
    assert "type: grade_change" in run(tmp_path, "events", "-o", "yaml").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_events_of_every_type_are_sent_signed(tmp_path: Path) -> None:
    with listening(tmp_path, "--log", environ={"LMS_SECRET": SECRET}) as listener:
        to = ("--to", f"http://127.0.0.1:{listener.port}/webhook")
        sent = run(tmp_path, "trigger", "grade_change", *to, "--secret-file", str(given_file(tmp_path, SECRET)),
                   "--set", "body.score=55.10", "--set", "body.note=a b", "--count", "3")  # fmt: skip
        assert sent.returncode == 0, sent.stderr
        until(lambda: listener.out.count("Body: ") == 3, "three events")
        assert all(id in listener.out for id in sent.stdout.split())
        assert '"score": 55.10' in listener.out
        assert '"note": "a b"' in listener.out
        own = run(tmp_path, "trigger", "quiz_submitted", *to, "--data", '{"q": 1}', LMS_SECRET=SECRET)
        assert own.returncode == 0, own.stderr
        until(lambda: '"body": {"q": 1}' in listener.out, "the event")
        refused = run(tmp_path, "trigger", "grade_change", *to, "--secret", "wrong")
        assert refused.returncode == 3
        assert "401" in refused.stderr
        assert "hint: the listener expects another secret" in refused.stderr
        unsigned = run(tmp_path, "trigger", "grade_change", *to)
        assert unsigned.returncode == 3
        assert "hint: it was sent without a signature" in unsigned.stderr


SHOP = """language = 2
[source.shop]
title = "Shop"
path  = "/shop"
type  = "payload.kind"
id    = 'headers."x-shop-id"'
[source.shop.hmac]
header    = "X-Sig"
algorithm = "sha256"
encoding  = "hex"
env       = "SHOP_SECRET"
signed    = "{timestamp}.{body}"
timestamp = { header = "X-Time" }
[event."shop.any"]
source   = "shop"
type     = "*"
category = "Shop"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_source_of_ones_own_needs_no_sample(tmp_path: Path) -> None:
    """What a delivery looks like follows from what the source reads; and `check` tells what would never do."""
    own = {"SHOP_SECRET": SECRET}
    routes = '[route.all]\nwhen = "body.score > `4`"\ndo = [{ handler = "append", file = "lines" }]\n'
    with listening(tmp_path, "--source", "shop", "--log", routes=routes, definitions=SHOP, environ=own) as listener:
        to = ("--source", "shop", "--to", f"http://127.0.0.1:{listener.port}/shop")
        environ = {**own, "LMS_DEFINITIONS": str(tmp_path / "own")}
        sent = run(tmp_path, "trigger", "paid", *to, "--data", '{"score": 5}', **environ)
        assert sent.returncode == 0, sent.stderr
        until(lambda: '{"score": 5, "kind": "paid"}' in listener.out, "the event")
        assert f"ID: {sent.stdout.strip()}" in listener.out
        lines = tmp_path / "lines"
        until(lambda: lines.exists() and lines.read_bytes().endswith(b"\n"), "the line of the route")
        assert json.loads(lines.read_text(encoding="utf-8"))["body"] == {"score": 5, "kind": "paid"}
    (tmp_path / "own" / "own.toml").write_text(SHOP.replace('"payload.kind"', '"payload"'), encoding="utf-8")
    done = run(tmp_path, "check", "--source", "shop", **environ)
    assert "type: is a table" in done.stderr
    split = SHOP.replace('"X-Sig"', '"X-Sig"\nseparator = ","\nprefix = ",v1="')
    (tmp_path / "own" / "own.toml").write_text(split, encoding="utf-8")
    done = run(tmp_path, "check", "--source", "shop", **environ)
    assert done.returncode == 0, done.stderr
    assert 'warning: source "shop": refuses the delivery of type' in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["grade_chnage"], 2, "did you mean 'grade_change'?"),
        (["grade_change", "--to", "http://127.0.0.1:9/webhook"], 7, "is a listener running there?"),
        (["grade_change", "--to", "http://127.0.0.1:9/webhook"], 7, "cannot connect to 127.0.0.1: connection refused"),
        (["grade_change", "--set", "nonsense"], 2, "PATH=VALUE"),
        (["grade_change", "--data", "{"], 2, "not JSON"),
        (["grade_change", "--count", "0"], 2, "--count"),
        (["grade_change", "--secret", " x"], 2, "whitespace"),
        (["grade_change", "--to", "x"], 2, "--to"),
        (["grade_change", "--to", ""], 2, "--to"),
        (["grade_change", "--to", "https://a..b/"], 2, "cannot be the name of a host"),
        (
            ["grade_change", "--to", "http://127.0.0.1:99999/"],
            2,
            "--to: 'http://127.0.0.1:99999/' is not a valid address",
        ),
        (["grade_change", "--to", "https://xn--/"], 2, "cannot be the name of a host"),
        (["push", "--source", "github", "--jwt-key", "k.pem"], 2, "does not use signed tokens"),
        (["x", "--source", "pubsub", "--jwt-key", "k.pem"], 2, "PUBSUB_AUDIENCE and PUBSUB_SERVICE_ACCOUNT: not set"),
        (["grade_change", "--jwt-key", "k.pem", "--keys-addr", "bad"], 2, "--keys-addr: 'bad' is not a valid address"),
        (["grade_change", "--keys-addr", "bad"], 2, "--keys-addr: 'bad' is not a valid address"),
        (["grade_change", "--jwt-key", "marked.pem"], 2, "marked.pem begins with a byte-order mark"),
    ],
)
def test_what_cannot_be_sent_says_why(arguments: list[str], code: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "marked.pem").write_bytes(b"\xef\xbb\xbf-----BEGIN PRIVATE KEY-----\n")
    done = run(tmp_path, "trigger", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("source", "type", "variable"),
    [
        ("github", "push", "GITHUB_WEBHOOK_SECRET"),
        ("standard", "user.created", "STANDARD_WEBHOOKS_SECRET"),
        ("stripe", "invoice.paid", "STRIPE_WEBHOOK_SECRET"),
        ("jira", "jira:issue_created", "JIRA_WEBHOOK_SECRET"),
        ("gitlab", "issue", "GITLAB_WEBHOOK_SECRET"),
        ("slack", "message", "SLACK_SIGNING_SECRET"),
        ("shopify", "orders/create", "SHOPIFY_WEBHOOK_SECRET"),
        ("meta", "page", "META_APP_SECRET"),
    ],
)
def test_other_senders_by_definition_alone(source: str, type: str, variable: str, tmp_path: Path) -> None:
    secret = {variable: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
    routes = f'[route.r]\nsource = ["{source}"]\non = ["{type}"]\ndo = [{{ handler = "append", file = "got" }}]\n'
    with listening(
        tmp_path, "--insecure", "--source", "lms", "--source", source, routes=routes, environ=secret
    ) as listener:
        to = ("--to", f"http://127.0.0.1:{listener.port}/{source}")
        sent = run(tmp_path, "trigger", type, *to, "--source", source, **secret)
        assert sent.returncode == 0, sent.stderr
        assert listener.post(b"{}", path=f"/{source}").status == 401
    got = json.loads((tmp_path / "got").read_text(encoding="utf-8"))
    assert (got["event_type"], got["id"] or "", got["source"]) == (type, sent.stdout.strip(), source)


# RFC 8032, section 7.1, test 1.
SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_senders_that_sign_addresses_use_key_pairs_or_ask_first(tmp_path: Path) -> None:
    variables = {"TWILIO_AUTH_TOKEN": "12345", "DISCORD_PUBLIC_KEY": PUBLIC, "META_VERIFY_TOKEN": "verify me"}
    options = ("--insecure", "--public-url", "https://hooks.example.com")
    sources = [word for name in ("lms", "twilio", "discord", "meta") for word in ("--source", name)]
    with listening(tmp_path, *options, *sources, environ=variables) as listener:
        host = f"http://127.0.0.1:{listener.port}"
        sent = run(tmp_path, "trigger", "X", "--source", "discord", "--to", f"{host}/discord", DISCORD_PUBLIC_KEY=SEED)
        assert sent.returncode == 0, sent.stderr
        signature = {
            "X-Twilio-Signature": twilio("https://hooks.example.com/twilio?a=1", "BodyHiMessageSidSM1", "12345")
        }
        for body, path, status in (
            (b"MessageSid=SM1&Body=Hi", "/twilio?a=1", 204),
            (b"MessageSid=SM1&Body=Hi", "/twilio?a=2", 401),
            (b"MessageSid=SM1&Body=Ho", "/twilio?a=1", 401),
        ):
            answer = listener.post(body, signature, path=path)
            assert answer.status == status
            assert ("content-length" in answer.headers) == (status != 204)
        asked = "/meta?hub.mode=subscribe&hub.challenge=%3Cb%3E1&hub.verify_token="
        answer = listener.request("GET", asked + "verify+me")
        assert (answer.status, answer.body, answer.headers["x-content-type-options"]) == (200, b"<b>1", "nosniff")
        assert answer.headers["content-type"].startswith("text/plain")
        assert [listener.request("GET", path).status for path in (asked + "no", "/meta", "/twilio")] == [401, 405, 405]
        listener.logged("200 challenge source=meta")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_may_be_wrong_with_a_signature_depends_on_how_it_is_made(tmp_path: Path) -> None:
    sources = ("--source", "twilio", "--source", "discord", "--public-url", "https://hooks.example.com")
    with listening(tmp_path, *sources, environ={"TWILIO_AUTH_TOKEN": "12345", "DISCORD_PUBLIC_KEY": "00" * 32}) as here:
        for type, source, words in (("message", "twilio", "--public-url"), ("X", "discord", "private half of the key")):
            to = ("--source", source, "--to", f"http://127.0.0.1:{here.port}/{source}", "--secret", "11" * 32)
            refused = run(tmp_path, "trigger", type, *to)
            assert (refused.returncode, words in refused.stderr) == (3, True), refused.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("given", ["https://hooks.example.com", "https://hooks.example.com:443"])
def test_senders_sign_an_address_with_its_usual_port_or_without_and_each_value_of_a_field_once(
    given: str, tmp_path: Path
) -> None:
    """As the sender's own libraries check it: fields by name, their values in order, equal ones once."""
    options = ("--source", "twilio", "--public-url", given)
    with listening(tmp_path, *options, environ={"TWILIO_AUTH_TOKEN": "12345"}) as listener:
        for fields, body in (
            ("MediaAMediaBMessageSidSM1", b"Media=B&MessageSid=SM1&Media=A&Media=B"),
            ("A2AA1MessageSidSM2", b"AA=1&A=2&MessageSid=SM2"),
        ):
            for port, status in (("", 204), (":443", 204), (":80", 401), (":8443", 401)):
                signed = twilio(f"https://hooks.example.com{port}/twilio", fields, "12345")
                answer = listener.post(body, {"X-Twilio-Signature": signed}, path="/twilio")
                assert answer.status == status, (port, fields)


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://h", "https://h:443"), ("https://h:443/a/b", "https://h/a/b"), ("http://h:80", "http://h"),
        ("http://[::1]", "http://[::1]:80"), ("https://[::1]:443", "https://[::1]"), ("https://h:80", None),
        ("http://[::1]:8080", None), ("", None),
    ],
)  # fmt: skip
def test_the_other_spelling_of_an_address(url: str, other: str | None) -> None:
    assert other_spellings(url) == ([] if other is None else [other])


def twilio(url: str, fields: str, token: str) -> str:
    return base64.b64encode(hmac.digest(token.encode(), (url + fields).encode(), "sha1")).decode()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signed_address_must_be_known(tmp_path: Path) -> None:
    done = run(tmp_path, "listen", "--source", "twilio", "--addr", ":0", TWILIO_AUTH_TOKEN="12345")
    assert done.returncode == 2
    assert "--public-url" in done.stderr
    done = run(tmp_path, "listen", "--source", "discord", "--addr", ":0", DISCORD_PUBLIC_KEY="zz")
    assert (done.returncode, done.stderr) == (2, "error: source 'discord': a secret is not valid hex\n")
    for text in ("hooks.example.com", "ftp://x", "https://", "https://x?a=1"):
        done = run(tmp_path, "listen", "--public-url", text, "--addr", ":0")
        assert done.returncode == 2
        assert "is not an http or https address" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_id_that_was_sent_is_printed(tmp_path: Path) -> None:
    with listening(tmp_path) as listener:
        to = ("--to", f"http://127.0.0.1:{listener.port}/webhook")
        assert run(tmp_path, "trigger", "grade_change", *to, "--set", "id=5").stdout == "5\n"
        assert "id=5 " in listener.logged("id=5")
