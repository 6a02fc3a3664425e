"""Handing events to brokers: real ones, killed and started again, with wrong addresses, passwords and names."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tomlkit

from callsheet.catalog.catalog import Catalog
from callsheet.errors import UsageError
from callsheet.listener.handlers import HandlerContext
from callsheet.listener.handlers.publish import Publish
from callsheet.registry import BROKERS as DRIVERS
from support.brokers import BROKERS, Broker, broker
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


@pytest.mark.slow
@pytest.mark.skipif(bool(BROKERS["sqs"].missing()), reason=str(BROKERS["sqs"].missing()))
def test_events_wait_for_sqs_to_come_back_with_an_empty_memory(tmp_path: Path) -> None:
    """The stand-in forgets its queue: until that is made again, each event is refused and tried again."""
    with broker("sqs", tmp_path) as given:
        words = ("--insecure", "--inbox", "inbox.db")
        table = given.handler(timeout="3s")
        with listening(tmp_path, *words, routes=routes(table), definitions=SOON, environ=given.environ) as listener:
            assert listener.post(event("1")).status == 200
            until(lambda: ids(given) == ["1"], "the first event")
            given.kill()
            assert listener.post(event("2")).status == 200
            listener.logged("failed")
            given.start()
            listener.logged("queue does not exist")
            assert listener.post(event("3")).status == 200
            given.prepare()
            seen: set[str] = set()  # what was received once is hidden for a while

            def both() -> bool:
                seen.update(ids(given))
                return seen == {"2", "3"}

            until(both, "both")
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
@pytest.mark.parametrize(("name", "url"), [
    ("redis", "rediss://localhost:{port}"), ("rabbitmq", "amqps://localhost:{port}"),
    ("kafka", "kafkas://localhost:{port}"), ("kafka", "kafkas://localhost:{port}?mechanism=scram-sha-512"),
])  # fmt: skip
def test_an_encrypted_connection_is_made_only_to_who_is_trusted(name: str, url: str, tmp_path: Path) -> None:
    """By the authorities that the environment names, as everywhere; with the login, which is refused if it is wrong."""
    authority = Authority(tmp_path)
    with broker(name, tmp_path, is_started=False) as given:
        given.encrypt(authority.certificate("localhost"), authority.bundle)
        given.start()
        given.prepare()
        trusted, environ = {"SSL_CERT_FILE": str(authority.bundle)}, {"LOGIN": f"tester:{given.password}"}
        table = {**given.handler(timeout="10s"), "url": url.format(port=given.tls_port), "login": {"env": "LOGIN"}}
        for more, status, words in (
            (environ, 500, "unable to bootstrap" if name == "kafka" else "certificate verify failed"),
            (environ | trusted, 200, "accepted"),
            ({"LOGIN": f"tester:{given.password}-wrong"} | trusted, 500, "refused"),
        ):  # fmt: skip
            with listening(tmp_path, "--insecure", routes=routes(table), environ=more) as listener:
                assert listener.post(event("7")).status == status
                line = listener.logged("id=7")
                assert status == 500 if words == "refused" else words in line.lower(), line
                assert given.password not in listener.err
        assert ids(given) == ["7"]


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
    ({"url": "amqp://a", "queue": "{body.q}"}, "queue: '{body.q}': it cannot be taken out of an event"),
    ({"url": "kafka://a", "topic": "t-{id}"}, "topic: 't-{id}': it cannot be taken out of an event"),
    ({"url": "redis://a", "stream": "s", "key": "{id}"}, "key: the broker has no keys for what goes to a stream"),
    ({"url": "amqp://a", "queue": "q", "key": "k"}, "key: the broker has no keys for what goes to a queue"),
    ({"url": "redis://a", "stream": "s", "login": {}}, "login: expected env or secret, one of them"),
    ({"url": "redis://a", "stream": "s", "login": {"env": "LOGIN", "secret": "s"}}, "login: expected env or secret"),
    ({"url": "amqp://a:b@c", "queue": "q"}, "must not hold a user name or password"),
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
    ({"url": "amqp://a", "queue": "q", "login": {"env": "LOGIN"}}, "the password would go to a without encryption"),
    ({"url": "kafka://localhost,a", "topic": "t", "login": {"env": "LOGIN"}}, "the password would go to a without"),
]  # fmt: skip


def test_a_password_goes_over_the_network_only_encrypted_or_where_that_is_asked_for() -> None:
    login = {"env": "LOGIN"}
    for table in (
        {"url": "amqps://a", "queue": "q", "login": login},
        {"url": "redis://[::1]", "stream": "s", "login": login},
        {"url": "redis://a", "stream": "s", "login": {**login, "cleartext": True}},
        {"url": "kafka://a?mechanism=SCRAM-SHA-256", "topic": "t", "login": login},  # which shows no password
        {"url": "redis://a", "stream": "s"},
    ):
        made({"LOGIN": "u:p"}, **table)


@pytest.mark.parametrize(("table", "words"), WRONG)
def test_what_cannot_be_is_said_before_anything_is_sent(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        made({"EMPTY": " ", "LOGIN": f"u:{PASSWORD}"}, **table)
    assert PASSWORD not in caught.value.message + str(caught.value.hint)
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


def test_what_a_client_says_of_its_objects_is_not_told() -> None:
    """As aio-pika does of a channel whose broker was killed."""
    handler = SimpleNamespace(target=SimpleNamespace(password="hunter2"))
    error = RuntimeError("<aio_pika.channel.Channel object at 0x7f4f2781aa50> closed\nby hunter2")
    assert Publish._error_text(cast("Publish", handler), error) == "the connection closed by ***"
