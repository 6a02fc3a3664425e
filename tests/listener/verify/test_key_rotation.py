"""Signed tokens against a listener process and a key set server that misbehaves."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.canary import given_file
from support.keysets import jwk, key_server, private_key, token
from support.listening import HEADER, SECRET, listening, run, signature, until
from support.ports import free_port
from support.waiting import PATIENCE

pytestmark = pytest.mark.slow

CLAIMS = {
    "metadata": {"event_name": "grade_change", "event_time": "2026-01-01"},
    "body": {"user_id": 21070000000000145},
}


def claims(number: int) -> dict[str, object]:
    return {**CLAIMS, "body": {"number": number}}


def test_a_cold_start_with_fifty_tokens_fetches_once(tmp_path: Path) -> None:
    with key_server(jwk("k1")) as keys:
        keys.delay = 0.5
        with listening(tmp_path, "--jwks-url", keys.url) as listener, ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda n: listener.post(token(claims(n)).encode()).status, range(50)))
            assert answers == [200] * 50
            assert keys.fetches == 1


def test_rotation_forgery_and_an_outage(tmp_path: Path) -> None:
    with key_server(jwk("k1")) as keys, listening(tmp_path, "--jwks-url", keys.url) as listener:
        assert listener.post(f'"{token(claims(1))}"\n'.encode()).status == 200
        keys.keys = [jwk("k1"), jwk("k2", private_key(1))]
        assert listener.post(token(claims(2), "k2", private_key(1)).encode()).status == 200
        before = keys.fetches
        for number in range(40):
            answer = listener.post(token(claims(3), f"forged {number}", private_key(2)).encode())
            assert (answer.status, answer.body) == (401, b'{"error":"not genuine"}')
        assert keys.fetches == before + 1
        listener.logged("401 token_key")
        keys.status = 500
        assert listener.post(token(claims(4)).encode()).status == 200
        assert listener.post(json.dumps(CLAIMS).encode()).status == 401


def test_two_deliveries_of_one_event_differ_in_their_times_only(tmp_path: Path) -> None:
    routes = '[route.all]\ndo = [{ handler = "append", file = "got" }]\n'
    with key_server(jwk("k1")) as keys, listening(tmp_path, "--jwks-url", keys.url, routes=routes) as listener:
        now = int(time.time())
        for stamp in (now, now + 1):
            sent = token({**CLAIMS, "iat": stamp, "exp": stamp + 60, "jti": str(stamp), "iss": "x"})
            assert listener.post(sent.encode()).status == 200
        assert "200 duplicate" in listener.logged("duplicate")
    (line,) = (tmp_path / "got").read_text(encoding="utf-8").splitlines()
    got = json.loads(line)
    assert got["body"] == {"user_id": 21070000000000145}
    assert got["event_time"] == "2026-01-01"
    assert "exp" not in got


@pytest.mark.parametrize("fault", ["redirect", "huge", "empty", "no json", "down"])
def test_a_bad_key_set_is_not_used_and_said_so(fault: str, tmp_path: Path) -> None:
    words = {"redirect": "redirects are not followed", "huge": "larger than 128 KiB", "empty": "no usable key",
             "no json": "key set:", "down": "key set:"}  # fmt: skip
    with key_server(jwk("k1")) as good, key_server(jwk("k1")) as keys:
        if fault == "redirect":
            keys.status, keys.location = 302, good.url
        elif fault == "huge":
            keys.body = b'{"keys": [' + b" " * 200_000 + json.dumps(jwk("k1")).encode() + b"]}"
        elif fault == "empty":
            keys.keys = []
        elif fault == "no json":
            keys.body = b"<html>"
        url = keys.url if fault != "down" else f"http://127.0.0.1:{free_port()}/"
        with listening(tmp_path, "--jwks-url", url) as listener:
            started = time.monotonic()
            answer = listener.post(token(CLAIMS).encode())
            assert (answer.status, answer.headers["retry-after"]) == (503, "5")  # nobody knows whether it is genuine
            assert time.monotonic() - started < 15  # the sender's patience
            assert listener.request("GET", "/ready").status == 503
            listener.logged(words[fault])
            assert good.fetches == 0


def test_a_hanging_key_set_holds_nobody_for_long_and_good_tokens_not_at_all(tmp_path: Path) -> None:
    patch = "from callsheet.listener.verify import key_set; key_set.TIMEOUT = 2.0"
    with key_server(jwk("k1")) as keys, listening(tmp_path, "--jwks-url", keys.url, patch=patch) as listener:
        assert listener.post(token(claims(1)).encode()).status == 200
        keys.delay = 30
        held = threading.Thread(target=lambda: listener.post(token(CLAIMS, "new").encode()))
        held.start()
        until(lambda: keys.fetches == 2, "the fetch")
        assert listener.post(token(claims(2)).encode()).status == 200
        assert held.is_alive()
        held.join(PATIENCE)
        listener.logged("no whole answer within 2 s")
        assert listener.request("GET", "/ready").status == 200  # the old keys serve


def test_where_the_key_set_hangs_from_the_start_tokens_are_to_come_again_and_signatures_pass(tmp_path: Path) -> None:
    patch = "from callsheet.listener.verify import key_set; key_set.TIMEOUT = 0.5"
    secret = str(given_file(tmp_path, SECRET))
    with key_server(jwk("k1")) as keys:
        keys.delay = 30
        with listening(tmp_path, "--jwks-url", keys.url, "--secret-file", secret, patch=patch) as listener:
            body = json.dumps(CLAIMS).encode()
            assert listener.post(body, {HEADER: signature(body)}).status == 200
            assert listener.post(token(CLAIMS).encode()).status == 503
            listener.logged("503 key_set_unavailable")
            assert listener.request("GET", "/ready").status == 200  # for those that sign
            keys.delay = 0
            until(lambda: listener.post(token(CLAIMS).encode()).status == 200, "the key set")


def test_a_restart_while_the_key_set_is_down(tmp_path: Path) -> None:
    cache = {"CALLSHEET_CACHE": str(tmp_path / "cache")}
    with key_server(jwk("k1")) as keys:
        with listening(tmp_path, "--jwks-url", keys.url, environ=cache) as listener:
            assert listener.post(token(claims(1)).encode()).status == 200
            until(lambda: list((tmp_path / "cache").glob("keys-*.json")), "the copy")
        keys.status = 500
        with listening(tmp_path, "--jwks-url", keys.url, environ=cache) as listener:
            assert listener.post(token(claims(2)).encode()).status == 200


def test_combined_tokens_first_then_signatures(tmp_path: Path) -> None:
    with key_server(jwk("k1")) as keys:
        given = ("--jwks-url", keys.url, "--secret-file", str(given_file(tmp_path, SECRET)))
        with listening(tmp_path, *given) as listener:
            body = json.dumps(CLAIMS).encode()
            assert listener.post(token(claims(1)).encode()).status == 200
            assert listener.post(body, {HEADER: signature(body)}).status == 200
            assert listener.post(body).status == 401
            forged = token(CLAIMS, "k1", private_key(1)).encode()
            assert listener.post(forged).status == 401
            assert f"no {HEADER} header" in listener.logged("was not made with key")


def test_trigger_serves_the_key_set_that_proves_its_tokens(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/jwks.json"
    with listening(tmp_path, "--log", "--jwks-url", url) as listener:
        listener.logged("next attempt in")
        to = f"http://127.0.0.1:{listener.port}/webhook"
        given = ("grade_change", "--to", to, "--jwt-key", "key.pem", "--keys-addr", f"127.0.0.1:{port}")
        done = run(tmp_path, "trigger", *given, "--set", "body.score=1e2")
        assert done.returncode == 0, done.stderr
        until(lambda: '"score": 1e2' in listener.out, "the log")
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600
