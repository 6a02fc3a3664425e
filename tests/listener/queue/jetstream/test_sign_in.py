"""Signing in to a queue's server: every kind of credentials with a real one, and what is wrong with them told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import CallsheetError, NetworkError, NotAllowed, UsageError
from callsheet.listener.queue.jetstream.jetstream_driver import JetStream
from callsheet.listener.queue.jetstream.nats_connection import credentials_of
from callsheet.listener.queue.queue_port import QueueEnvironment
from support.listening import run
from support.nats import Server, nats_server, needs_server
from support.tls import Authority

pytestmark = pytest.mark.slow

PASSWORD = "hunter2: and more"
DEFINITION: dict[str, Any] = {
    "schemes": ["nats", "tls"], "subject": "callsheet", "dedup_window": "1h", "replicas": 1, "connect_timeout": "5s",
}  # fmt: skip


def facts(server: Server, scheme: str = "nats", environ: dict[str, str] | None = None, **more: Any) -> list[str]:
    """What is read with these credentials. Raises `CallsheetError`."""
    url = f"{scheme}://localhost:{server.port}/EVENTS"
    definition: Any = {**DEFINITION, **more}
    return JetStream(url, definition, QueueEnvironment(environ or {}, "LMS")).read_guarantees(lambda _: None)[0]


def refusal(server: Server, scheme: str = "nats", environ: dict[str, str] | None = None, **more: Any) -> CallsheetError:
    with pytest.raises(CallsheetError) as refused:
        facts(server, scheme, environ, **more, connect_timeout="500ms")
    return refused.value


def not_allowed(server: Server, **how: Any) -> NotAllowed:
    """The server closes the connection as soon as it has said so, and now and then before that can be read."""
    for _ in range(6):
        if isinstance(refused := refusal(server, **how), NotAllowed):
            return refused
    raise AssertionError(refused)


def private(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return str(path)


@needs_server
def test_a_user_and_password_and_an_nkey(tmp_path: Path) -> None:
    from support.nats_accounts import user_key

    key, other = user_key(), user_key()
    damaged = key.seed[:20] + ("B" if key.seed[20] == "A" else "A") + key.seed[21:]
    users = f'{{ user: u, password: "{PASSWORD}" }}, {{ nkey: {key.public} }}'
    with nats_server(tmp_path, f"authorization {{ users = [{users}] }}") as server:
        assert facts(server, environ={"LMS_QUEUE_CREDENTIALS": f"u:{PASSWORD}\n"})
        assert facts(server, environ={"LMS_QUEUE_CREDENTIALS_FILE": private(tmp_path / "password", f"u:{PASSWORD}\n")})
        assert facts(server, environ={"LMS_QUEUE_CREDENTIALS": key.seed})
        assert facts(server, credentials=private(tmp_path / "seed", f"{key.seed}\n"))
        for wrong in ("u:hunter3", "hunter3", other.seed, damaged):
            refused = not_allowed(server, environ={"LMS_QUEUE_CREDENTIALS": wrong})
            assert wrong not in f"{refused.message} {refused.hint}"
        assert not_allowed(server)


@needs_server
def test_a_token_of_an_operator_and_a_plain_one(tmp_path: Path) -> None:
    from support.nats_accounts import operator

    config, creds = operator()
    with nats_server(tmp_path, config) as server:
        assert facts(server, environ={"LMS_QUEUE_CREDENTIALS": creds})
        assert facts(server, credentials=private(tmp_path / "creds", creds))
        assert refusal(server, environ={"LMS_QUEUE_CREDENTIALS": operator()[1]})
    with nats_server(tmp_path, "authorization { token: hunter2 }") as server:
        assert facts(server, environ={"LMS_QUEUE_CREDENTIALS": "hunter2"})


@needs_server
def test_certificates_of_both_sides(tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    authority, others = Authority(tmp_path), Authority(tmp_path / "others")
    certificate, own = authority.certificate("localhost"), str(authority.certificate("worker"))
    foreign = str(others.certificate("worker"))
    for path in (own, foreign):
        Path(path).chmod(0o600)
    ca = str(authority.bundle)
    config = f'tls {{ cert_file: "{certificate}", key_file: "{certificate}", ca_file: "{ca}", verify: true }}'
    with nats_server(tmp_path, config) as server:
        assert facts(server, "tls", tls={"ca": ca, "cert": own})
        assert facts(server, "nats", tls={"ca": ca, "cert": own, "key": own})
        for tls in ({"cert": own}, {"ca": ca}, {"ca": ca, "cert": foreign}):
            assert isinstance(refusal(server, "tls", tls=tls), NetworkError)


@needs_server
def test_nothing_is_said_that_is_not_about_the_queue(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate = authority.certificate("localhost")
    config = f'tls {{ cert_file: "{certificate}", key_file: "{certificate}" }}'
    (tmp_path / "own").mkdir()
    text = f'[extend.queue.jetstream.tls]\nca = "{authority.bundle}"\n'
    (tmp_path / "own" / "own.toml").write_text(text, encoding="utf-8")
    with nats_server(tmp_path, config) as server:
        url = server.url.replace("nats://127.0.0.1", "tls://localhost")
        done = run(tmp_path, "check", "--queue", url, LMS_DEFINITIONS=str(tmp_path / "own"))
    assert done.returncode == 0, done.stderr
    assert {line.partition(" ")[0] for line in done.stderr.splitlines()} == {"note:", "warning:"}


@needs_server
@pytest.mark.parametrize(("scheme", "tls"), [("tls", False), ("nats", True)])
def test_where_tls_is_asked_for_nothing_is_sent_without(scheme: str, tls: bool, tmp_path: Path) -> None:
    """Whoever sits between can take the server's offer of TLS away."""
    asked = {"tls": {"ca": str(Authority(tmp_path).bundle)}} if tls else {}
    with nats_server(tmp_path) as server:
        refused = refusal(server, scheme, {"LMS_QUEUE_CREDENTIALS": "hunter2"}, **asked)
        assert (type(refused), "no TLS" in refused.message) == (NetworkError, True)


def given(path: str) -> dict[str, Any]:
    definition: Any = {"credentials": path}
    return credentials_of(definition, QueueEnvironment({}, "LMS"))


SEED = "SU" + "A" * 56


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "contains no credentials"),
        (" \n", "contains no credentials"),
        ("\ufeffuser:hunter2", "byte-order mark"),
        ("hunter2\nhunter3\n", "several lines"),
        ("-----BEGIN NATS USER JWT-----\nhunter2\n------END NATS USER JWT------\n", "not the seed"),
        (f"SA{'A' * 56}", "not of a user"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_without_repeating_it(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        given(private(tmp_path / "file", text))
    assert "hunter2" not in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("name", ["LMS_QUEUE_CREDENTIALS", "LMS_QUEUE_CREDENTIALS_FILE"])
def test_a_variable_that_is_set_and_empty_is_not_taken_for_none(name: str) -> None:
    definition: Any = {"credentials": "/nowhere"}
    with pytest.raises(UsageError, match=name):
        credentials_of(definition, QueueEnvironment({name: ""}, "LMS"))


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
@pytest.mark.parametrize("name", ["credentials", "key", "both"])
def test_a_secret_that_others_can_read_is_refused(name: str, tmp_path: Path) -> None:
    from callsheet.listener.queue.jetstream.nats_connection import tls_context

    made = Authority(tmp_path).certificate("worker")
    made.chmod(0o644)
    definitions: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
        "credentials": (
            lambda definition: credentials_of(definition, QueueEnvironment({}, "LMS")),
            {"credentials": str(made)},
        ),
        "key": (lambda definition: tls_context(definition, "tls"), {"tls": {"cert": str(made), "key": str(made)}}),
        "both": (lambda definition: tls_context(definition, "tls"), {"tls": {"cert": str(made)}}),
    }
    read, definition = definitions[name]
    with pytest.raises(NotAllowed, match="can be read by others"):
        read(definition)
    made.chmod(0o600)
    if name != "credentials":
        assert read(definition) is not None


@pytest.mark.parametrize("missing", ["ca", "cert"])
def test_files_for_tls_that_are_not_there_are_named(missing: str, tmp_path: Path) -> None:
    from callsheet.listener.queue.jetstream.nats_connection import tls_context

    definition: Any = {"tls": {missing: str(tmp_path / "gone")}}
    with pytest.raises(CallsheetError, match=f"tls.{missing}.*gone.*No such file"):
        tls_context(definition, "nats")
    definition = {"tls": {"key": str(tmp_path / "gone")}}
    with pytest.raises(UsageError, match=r"needs tls\.cert"):
        tls_context(definition, "nats")
