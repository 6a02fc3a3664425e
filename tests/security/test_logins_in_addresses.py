"""An address with a user or a password is refused wherever one is written down, and the refusal says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.urls import holds_login
from support.cases import nobody, run_program

SECRET = "hunter2"
LOGIN = f"robin:{SECRET}"
ROUTE = '[route.all]\ndo = [{ handler = "%s" }]\n'


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://u:p@h.example/x", True),
        ("https://token@h.example", True),
        ("https://@h.example", True),
        ("https://u:p@[::1]:8/", True),
        ("https://u:a/b@h.example/x", True),  # whose password should have been written with %2F
        ("https://u:a?b@h.example", True),
        ("https://u:12/b@h.example", False),  # a port, as far as anybody can say
        ("https://u:p@", True),
        ("redis://:p@h", True),
        ("https://h.example:8/@u", False),
        ("https://h.example/?to=a:b@c", False),
        ("http://[::1]:8/@x", False),
        ("http://[fe80::1]/a@b", False),
        (":8080", False),
        ("h.example:8080/@u", False),
        ("u:p@h.example", True),
        ("//u:p@h.example", True),
        ("", False),
    ],
)
def test_a_login_is_what_stands_before_a_host(address: str, *, expected: bool) -> None:
    assert holds_login(address) is expected


# Program, words of a command line, what stands in the file `f.toml`, environment, and where the secret goes.
PLACES: list[tuple[str, str, str, dict[str, str], str]] = [
    ("suite", "issues get A-1 --base-url https://{}@h.example", "", {}, "`suite init` asks for credentials"),
    ("suite", "issues get A-1 --base-url {}@h.example", "", {}, "`suite init` asks for credentials"),
    ("suite", "issues get A-1", "", {"SUITE_BASE_URL": "https://{}@h.example"}, "`suite init` asks for credentials"),
    ("suite", "init --base-url https://{}@h.example", "", {}, "`suite init` asks for credentials"),
    ("suite", "init --base-url https://h.example --proxy http://{}@h.example:1", "", {}, "HTTPS_PROXY"),
    ("suite", "api get https://{}@h.example/x --base-url https://h.example", "", {}, "`suite init` asks"),
    ("suite", "mirror x.sqlite --to postgres:postgresql://{}@h/db", "", {}, "set DESTINATION__POSTGRES__CREDENTIALS"),
    ("suite", "sandbox start --webhooks http://{}@127.0.0.1:9", "", {}, "--webhook-secret-file"),
    ("lms", "webhook listen --insecure --forward-to http://{}@h.example/x", "", {}, 'login = { env = "NAME" }'),
    ("lms", "webhook listen --insecure --routes f.toml", ROUTE % 'forward", url = "http://{}@h.example/x', {},
     'login = { env = "NAME" }'),
    ("lms", "webhook listen --insecure --routes f.toml", ROUTE % 'forward", url = "{}@h.example/x', {},
     'login = { env = "NAME" }'),
    ("lms", "webhook listen --insecure --routes f.toml", ROUTE % 'publish", queue = "q", url = "amqp://{}@h', {},
     'login = { env = "NAME" }'),
    ("lms", "webhook check --routes f.toml", ROUTE % 'publish", topic = "q", url = "kafka://a,{}@h', {},
     'login = { env = "NAME" }'),
    ("lms", "webhook work --queue nats://{}@h/EV --handler x", "", {}, "LMS_QUEUE_CREDENTIALS"),
    ("lms", "webhook inbox list", "", {"LMS_QUEUE": "nats://{}@h/EV"}, "LMS_QUEUE_CREDENTIALS"),
    ("lms", "webhook listen --jwks-url https://{}@h.example/jwks.json", "", {}, "what is asked for there is public"),
    ("lms", "webhook listen --insecure --public-url https://{}@h.example", "", {}, "senders prove themselves"),
    ("lms", "webhook trigger grade_change --to http://{}@127.0.0.1:9/webhook", "", {}, "--secret-file"),
]  # fmt: skip


@pytest.mark.parametrize("login", [LOGIN, SECRET, f"robin:{SECRET}/x"], ids=["both", "user", "slash"])
@pytest.mark.parametrize(
    ("program", "words", "file", "environ", "hint"), PLACES, ids=[words for _, words, *_ in PLACES]
)
def test_no_address_takes_a_login(
    program: str,
    words: str,
    file: str,
    environ: dict[str, str],
    hint: str,
    login: str,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if login == SECRET and "postgres" in words:
        pytest.skip("a user of a database is no secret")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.toml").write_text(file.replace("{}", login), encoding="utf-8")
    given = {name: text.format(login) for name, text in environ.items()}
    done = run_program(program, words.format(login).split(), {**nobody(tmp_path_factory), **given})
    assert done.exit == 2, done.stderr
    assert "a URL must not hold a user name or password" in done.stderr
    assert hint in done.stderr
    assert SECRET not in done.stderr
