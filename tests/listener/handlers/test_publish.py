"""Handing events to brokers: real ones, killed and started again, with wrong addresses, passwords and names."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tomlkit

from callsheet.catalog.catalog import Catalog
from callsheet.errors import UsageError
from callsheet.listener.handlers import HandlerContext
from callsheet.listener.handlers.publish import Publish
from callsheet.registry import BROKERS as DRIVERS
from support.brokers import BROKERS, Broker, Redis, broker
from support.canary import PASSWORD
from support.listening import event, listening, run, until
from support.places import DEFINITIONS
from support.tls import Authority

DEFINED = tomllib.loads((DEFINITIONS / "listener" / "brokers.toml").read_text(encoding="utf-8"))["broker"]
# Repetitions come soon, and each answer is waited for briefly.
SOON = '[extend.listener.webhook]\nbackoff = "100ms"\nbackoff_max = "500ms"\nmax_attempts = 1000\n'
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def each(*names: str) -> Any:
    """The brokers by these names, all without one. Those that take long to start are slow."""
    marks: dict[str, list[Any]] = {"redis": []}
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=marks.get(name, [pytest.mark.slow])) for name in names or BROKERS]
    )


@pytest.fixture(autouse=True)
def _there(request: pytest.FixtureRequest) -> None:
    if "name" in request.fixturenames and (why := BROKERS[request.getfixturevalue("name")].missing()):
        pytest.skip(why)


def routes(*tables: Mapping[str, Any]) -> str:
    return tomlkit.dumps({"route": {"all": {"do": list(tables)}}})


def ids(given: Broker) -> list[str]:
    return [json.loads(data)["id"] for data, _ in given.received()]


@each()
def test_an_event_is_handed_over_with_its_headers_and_told_by_the_broker(name: str, tmp_path: Path) -> None:
    """In its own form and in that of CloudEvents; what the broker told can be the answer to the sender."""
    with broker(name, tmp_path) as given:
        own = given.handler(headers={"X-Course": "{body.course}"})
        other = given.handler(envelope="cloudevents", success="result")
        with listening(tmp_path, "--insecure", routes=routes(own, other), environ=given.environ) as listener:
            body = event("7", course="ä")
            assert listener.post(body, {"Traceparent": TRACE}).status == 200
            assert listener.stop() == 0
        plain, cloud = sorted(given.received(), key=lambda each: "specversion" in json.loads(each[0]))
    assert json.loads(plain[0])["body"] == {"course": "ä"}
    assert plain[1] == {"content-type": "application/json", "x-course": "%C3%A4", "traceparent": TRACE}
    assert cloud[1] == {"content-type": "application/cloudevents+json", "traceparent": TRACE}
    assert json.loads(cloud[0])["id"] == "7"


@each("redis", "rabbitmq", "kafka", "pubsub")
def test_nothing_is_lost_when_the_broker_is_killed_and_comes_back(name: str, tmp_path: Path) -> None:
    with broker(name, tmp_path) as given:
        words = ("--insecure", "--inbox", "inbox.db")
        table = given.handler(timeout="3s")
        with listening(tmp_path, *words, routes=routes(table), definitions=SOON, environ=given.environ) as listener:
            for number in range(120):
                if number == 40:
                    until(lambda: len(given.received()) >= 5, "the first events")
                    given.kill()
                assert listener.post(event(str(number))).status == 200
                if number == 80:
                    listener.logged("failed")
                    given.start()
            until(lambda: len(set(ids(given))) == 120, "all events")
            listener.logged("handled")
            assert listener.stop() == 0


@each("redis", "rabbitmq", "kafka", "pubsub")
def test_a_broker_that_is_not_there_at_the_start_is_waited_for(name: str, tmp_path: Path) -> None:
    with broker(name, tmp_path, is_started=False) as given:
        words = ("--insecure", "--inbox", "inbox.db")
        table = given.handler(timeout="3s")
        with listening(tmp_path, *words, routes=routes(table), definitions=SOON, environ=given.environ) as listener:
            assert listener.post(event("7")).status == 200
            line = listener.logged("failed")
            given.start()
            given.prepare()
            until(lambda: ids(given), "the event")
            assert listener.stop() == 0
    assert any(word in line for word in ("connection refused", "Unable to bootstrap", "failed to connect")), line


@pytest.mark.slow
@pytest.mark.skipif(bool(Redis.missing()), reason=str(Redis.missing()))
def test_an_encrypted_connection_is_made_only_to_who_is_trusted(tmp_path: Path) -> None:
    """By the authorities that the environment names, as everywhere."""
    authority = Authority(tmp_path)
    certificate = authority.certificate("localhost")
    given = Redis(tmp_path)
    given.more = f"tls-port {given.port}\nport 0\ntls-auth-clients no\n" + "".join(
        f"tls-{name} {file}\n"
        for name, file in (("cert-file", certificate), ("key-file", certificate), ("ca-cert-file", authority.bundle))
    )
    try:
        given.start()
        table = given.handler(url=f"rediss://localhost:{given.port}", timeout="5s")
        for trusted, status, words in ((None, 500, "certificate verify failed"), (authority.bundle, 200, "accepted")):
            environ = given.environ | ({"SSL_CERT_FILE": str(trusted)} if trusted else {})
            with listening(tmp_path, "--insecure", routes=routes(table), environ=environ) as listener:
                assert listener.post(event("7")).status == status
                assert words in listener.logged("id=7")
    finally:
        given.close()


# What a table has to be for the broker to refuse, and the words of the log.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("redis", {"login": {"env": "WRONG"}}, "invalid username-password pair"),
    ("redis", {"url": "redis://127.0.0.1:9"}, "redis://127.0.0.1:9, stream events: connection refused"),
    ("rabbitmq", {"login": {"env": "WRONG"}}, "ACCESS_REFUSED"),
    ("rabbitmq", {"url": "amqp://127.0.0.1:9"}, "amqp://127.0.0.1:9, queue events: connection refused"),
    ("rabbitmq", {"queue": "other"}, "queue other: there is no such queue"),
    ("rabbitmq", {"queue": None, "exchange": "other"}, "no exchange 'other'"),
    ("rabbitmq", {"queue": None, "exchange": "amq.topic", "key": "{event_type}"}, "for the key 'grade_change'"),
    ("kafka", {"url": "kafka://127.0.0.1:9"}, "Unable to bootstrap"),
    ("kafka", {"topic": "other"}, "UnknownTopicOrPartition"),
    ("sqs", {"queue": "other"}, "The specified queue does not exist"),
    ("pubsub", {"topic": "other"}, "Resource not found"),
]  # fmt: skip


@each()
def test_what_a_broker_refuses_is_said_and_the_next_event_is_tried_again(name: str, tmp_path: Path) -> None:
    """Each in a route of its own, on one broker."""
    with broker(name, tmp_path) as given:
        cases = [(more, words) for kind, more, words in REFUSED if kind == name]
        text = "".join(
            tomlkit.dumps(
                {"route": {f"r{number}": {"when": f"body.case == `{number}`", "do": [_changed(given, more)]}}}
            )
            for number, (more, _) in enumerate([*cases, ({}, "")])
        )
        environ = {**given.environ, "WRONG": f"tester:{PASSWORD}-wrong"}
        with listening(tmp_path, "--insecure", routes=text, environ=environ) as listener:
            for number, (_, words) in enumerate(cases):
                for attempt in "ab":
                    assert listener.post(event(f"{number}{attempt}", case=number)).status == 500
                    assert words in listener.logged(f"id={number}{attempt} ")
            assert listener.post(event("7", case=len(cases))).status == 200
            assert listener.stop() == 0
        assert ids(given) == ["7"]


def _changed(given: Broker, more: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**given.handler(timeout="3s"), **more}.items() if value is not None}


def made(environ: Mapping[str, str] | None = None, **table: Any) -> Publish:
    with closing(Catalog("lms", {})) as catalog:
        brokers = catalog.brokers.all()
    context = HandlerContext("", environ or {}, frozenset(), lambda _: None, 10.0, lambda *_, **__: 0, brokers=brokers)
    return Publish({"handler": "publish", **table}, context)  # type: ignore[typeddict-item]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"url": "redis://a", "queue": "q"}, "expected stream, not queue"),
    ({"url": "amqp://a"}, "expected queue or exchange"),
    ({"url": "amqp://a", "queue": "q", "exchange": "e"}, "expected queue or exchange, not queue and exchange"),
    ({"url": "amqp://a:b@c", "queue": "q"}, "holds a user or a password"),
    ({"url": "amqp://", "queue": "q"}, "there is no host in it"),
    ({"url": "amqp://a b", "queue": "q"}, "cannot be the name of a host"),
    ({"url": "amqp://a:x", "queue": "q"}, "'a:x'"),
    ({"url": "amqp://a,b", "queue": "q"}, "one host is expected"),
    ({"url": "radis://a", "stream": "s"}, "did you mean 'redis'"),
    ({"url": "redis://a/x", "stream": "s"}, "'x' is not the number of a database"),
    ({"url": "kafka://a?mechanism=MD5", "topic": "t"}, "mechanism: expected one of PLAIN"),
    ({"url": "redis://a", "stream": "s", "login": {"env": "NONE"}}, "NONE is not set"),
    ({"url": "redis://a", "stream": "s", "login": {"env": "EMPTY"}}, "EMPTY is empty"),
    ({"url": "sqs://eu-central-1", "queue": "q", "login": {"env": "EMPTY"}}, "finds credentials itself"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "words"), WRONG)
def test_what_cannot_be_is_said_before_anything_is_sent(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        made({"EMPTY": " "}, **table)
    assert words in caught.value.message
    assert "a:b" not in caught.value.message


def test_a_check_names_the_file_and_the_line(tmp_path: Path) -> None:
    text = '[route.all]\ndo = [{ handler = "publish", url = "redis://a", topic = "t" }]\n'
    (tmp_path / "r.toml").write_text(text, encoding="utf-8")
    done = run(tmp_path, "check", "--routes", "r.toml")
    assert done.returncode == 2
    assert 'r.toml:2: route "all": do.0: expected stream, not topic' in done.stderr


EVENT: Any = SimpleNamespace(
    trace_headers=[],
    key="k",
    record_text="{}",
    scope={"id": "7"},
    fast_scope={"id": "7"},
    source=SimpleNamespace(name="s"),
)


def test_headers_of_cloudevents_are_called_as_the_broker_calls_them() -> None:
    """In the bindings for AMQP and Kafka; a binary form is made with `send` and `headers`."""
    named = {"Ce-Id": "{id}", "X-A": "b"}
    for url, to, prefix in (
        ("kafka://a", "topic", "ce_"),
        ("amqp://a", "queue", "cloudEvents:"),
        ("pubsub://p", "topic", "ce-"),
    ):
        message = made(url=url, headers=named, **{to: "t"})._message(EVENT)
        assert message.headers == {"content-type": "application/json", f"{prefix}id": "7", "x-a": "b"}


def test_a_message_that_is_too_large_is_not_sent() -> None:
    handler = made(url="sqs://eu-central-1", queue="q", send="{big}")
    large = SimpleNamespace(**{**vars(EVENT), "scope": {"big": "x" * 1048577}})
    with pytest.raises(Exception, match="1048577 bytes, more than 1048576"):
        handler._message(large)


def test_programs_do_not_see_a_login(tmp_path: Path) -> None:
    """Neither that of another handler, nor one that their own route uses."""
    program = {"handler": "exec", "run": [sys.executable, "-c", "import os; print('given:', os.environ.get('LOGIN'))"]}
    table = {"handler": "publish", "url": "redis://127.0.0.1:9", "stream": "s", "login": {"env": "LOGIN"}}
    with listening(
        tmp_path, "--insecure", routes=routes(table, program), environ={"LOGIN": f"u:{PASSWORD}"}
    ) as listener:
        assert listener.post(event("7")).status == 500
        assert "given: None" in listener.logged("given:")


def test_each_driver_is_used_by_a_definition() -> None:
    assert {each["driver"] for each in DEFINED.values()} == set(DRIVERS)
