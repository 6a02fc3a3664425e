"""Routes and handlers of a listener process: what they get, what their outcome means for the sender."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.canary import TOKEN
from support.listening import HEADER, SECRET, event, listening, run, signature, until
from support.server import exchange, reply, serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="written for a POSIX shell")


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.mark.slow
def test_a_program_gets_the_event_as_it_was_sent(tmp_path: Path) -> None:
    script(tmp_path, "notify", 'cat > in.json; printf "%s\\n" "$@" > args; env > environ; pwd > where; echo done')
    routes = """
    [route.low]
    on   = ["grade_*"]
    when = "body.score < `60`"

    [[route.low.do]]
    handler = "exec"
    run     = ["./notify", "{body.user_id}", "user {body.name}", "{{x}}"]
    env     = { SCORE = "{body.score}" }
    """
    body = (
        b'{"id": 21070000000000145, "event_type": "grade_change", "event_time": "t", "extra": [1.10], '
        b'"body": {"user_id": 21070000000000999, "score": 5.50, "name": "a; rm -rf $HOME `x`"}}'
    )
    with listening(tmp_path, routes=routes, environ={"LMS_SECRET": SECRET}) as listener:
        assert listener.send(body).status == 200
        assert listener.send(event("2", score=60)).status == 200
        listener.logged("low/1: done")
    assert (tmp_path / "in.json").read_text(encoding="utf-8") == (
        '{"id": 21070000000000145, "event_type": "grade_change", "event_time": "t", "source": "lms", "body": '
        '{"user_id": 21070000000000999, "score": 5.50, "name": "a; rm -rf $HOME `x`"}, "extra": [1.10]}\n'
    )
    assert lines(tmp_path / "args") == ["21070000000000999", "user a; rm -rf $HOME `x`", "{x}"]
    environ = lines(tmp_path / "environ")
    assert {"EVENT_TYPE=grade_change", "EVENT_ID=21070000000000145", "EVENT_TIME=t", "SCORE=5.50"} <= set(environ)
    assert not any("LMS_SECRET" in line for line in environ)
    assert lines(tmp_path / "where") == [str(tmp_path)]


def test_the_short_form_runs_for_every_event(tmp_path: Path) -> None:
    script(tmp_path, "h", 'echo "$EVENT_TYPE $1" >> got')
    with listening(tmp_path, "--handler", "./h 'a b'") as listener:
        assert listener.post(event("1")).status == 200
        assert listener.post(event("2", "quiz_submitted")).status == 200
    assert lines(tmp_path / "got") == ["grade_change a b", "quiz_submitted a b"]


def test_a_failure_is_told_to_the_sender_and_a_retry_runs_only_what_failed(tmp_path: Path) -> None:
    script(tmp_path, "good", "echo good >> got")
    script(tmp_path, "flaky", "echo flaky >> got; test -e fixed")
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./good"] }, { handler = "exec", run = ["./flaky"] }]\n'
    with listening(tmp_path, routes=routes) as listener:
        assert listener.post(event()).status == 500
        assert "exit code 1" in listener.logged("500 failed")
        assert listener.post(event()).status == 500
        (tmp_path / "fixed").touch()
        assert listener.post(event()).status == 200
        assert listener.post(event()).status == 200
        listener.logged("200 duplicate")
    assert sorted(lines(tmp_path / "got")) == ["flaky", "flaky", "flaky", "good"]


def test_a_handler_that_cannot_start_fails(tmp_path: Path) -> None:
    with listening(tmp_path, routes='[route.r]\ndo = [{ handler = "exec", run = ["./absent"] }]\n') as listener:
        assert listener.post(event()).status == 500
        assert "cannot run" in listener.logged("500 failed")


def test_the_time_limit_ends_the_whole_process_group(tmp_path: Path) -> None:
    script(tmp_path, "slow", "sleep 300 & echo $! > child; trap '' TERM; wait; sleep 300")
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["./slow"], timeout = "1s" }]\n'
    with listening(tmp_path, routes=routes) as listener:
        assert listener.post(event()).status == 500
        assert "timed out after 1 s" in listener.logged("500 failed")
        child = int(lines(tmp_path / "child")[0])
        until(lambda: not _alive(child), "the end of the child")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_endless_output_is_capped_and_a_background_child_is_not_waited_for(tmp_path: Path) -> None:
    script(tmp_path, "talk", "yes talk | head -c 3000000; sleep 5 &")
    started = time.monotonic()
    with listening(tmp_path, routes='[route.r]\ndo = [{ handler = "exec", run = ["./talk"] }]\n') as listener:
        assert listener.post(event()).status == 200
        assert len(listener.err) < 200_000
    assert time.monotonic() - started < 60


def test_caps_hold_and_what_finds_no_place_is_told_to_come_back(tmp_path: Path) -> None:
    script(tmp_path, "count", "echo + >> log; while test ! -e go; do sleep 0.05; done; echo - >> log")
    routes = '[route.r]\nconcurrency = 3\ndo = [{ handler = "exec", run = ["./count"], timeout = "30s" }]\n'
    limits = '[listener.webhook]\nqueue_timeout = "1s"\nqueue_size = 4\n'
    with listening(tmp_path, routes=routes, definitions=limits) as listener, ThreadPoolExecutor(30) as pool:
        answers = [pool.submit(listener.post, event(str(number))) for number in range(30)]
        until(lambda: sum(answer.done() for answer in answers) == 27, "the refusals")
        assert lines(tmp_path / "log") == ["+"] * 3
        (tmp_path / "go").touch()
        found = sorted(answer.result().status for answer in answers)
        assert found == [200] * 3 + [503] * 27
        assert {answer.result().headers.get("retry-after") for answer in answers} == {None, "5"}
        assert listener.post(event("later")).status == 200


def test_one_event_twice_at_once_runs_once(tmp_path: Path) -> None:
    script(tmp_path, "h", "echo x >> got; while test ! -e go; do sleep 0.05; done")
    with listening(tmp_path, "--handler", "./h") as listener, ThreadPoolExecutor(10) as pool:
        answers = [pool.submit(listener.post, event("same")) for _ in range(10)]
        until(lambda: lines(tmp_path / "got"), "the run")
        (tmp_path / "go").touch()
        assert [answer.result().status for answer in answers] == [200] * 10
    assert lines(tmp_path / "got") == ["x"]


def test_the_order_of_a_key_is_kept_and_other_keys_do_not_wait(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import asyncio\nlog = []\n"
        "async def slow(event):\n"
        "    log.append(('start', event['body']['user'], event['id']))\n"
        "    while len({user for _, user, _ in log}) < 2:\n"
        "        await asyncio.sleep(0.001)\n"
        "    await asyncio.sleep(0.05)\n"  # in which another of the same user would start
        "    log.append(('end', event['body']['user'], event['id']))\n"
        "    open('log', 'w').write(repr(log))\n",
        encoding="utf-8",
    )
    routes = '[route.r]\norder = "body.user"\ndo = [{ handler = "python", call = "mine:slow" }]\n'
    with listening(tmp_path, routes=routes) as listener, ThreadPoolExecutor(20) as pool:
        sent = [pool.submit(listener.post, event(number, user=number % 2)) for number in range(12)]
        assert {answer.result().status for answer in sent} == {200}
    log = eval((tmp_path / "log").read_text(encoding="utf-8"))
    for user in (0, 1):
        own = [(what, id) for what, who, id in log if who == user]
        assert all(own[place][0] == "start" and own[place + 1] == ("end", own[place][1]) for place in range(0, 12, 2))
    first_end = next(place for place, entry in enumerate(log) if entry[0] == "end")
    assert {entry[1] for entry in log[:first_end]} == {0, 1}


def test_python_functions_plain_and_async_and_failing(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import time\n"
        "def plain(event): open('plain', 'w').write(f\"{event['id']!r} {event['body']}\")\n"
        "def broken(event): raise KeyError('nope')\n"
        "def slow(event): time.sleep(60)\n",
        encoding="utf-8",
    )
    routes = """
    [route.a]
    on = ["grade_change"]
    do = [{ handler = "python", call = "mine:plain" }]
    [route.b]
    on = ["quiz_submitted"]
    do = [{ handler = "python", call = "mine:broken" }]
    [route.c]
    on = ["user_created"]
    do = [{ handler = "python", call = "mine:slow", timeout = "500ms" }]
    """
    with listening(tmp_path, routes=routes) as listener:
        assert listener.post(event(21070000000000145, n=2**60)).status == 200
        assert (tmp_path / "plain").read_text(encoding="utf-8") == f"21070000000000145 {{'n': {2**60}}}"
        assert listener.post(event("b", "quiz_submitted")).status == 500
        assert "KeyError: 'nope'" in listener.logged("500 failed")
        assert listener.post(event("c", "user_created")).status == 500
        listener.logged("no result after 0.5 s")
        assert listener.stop() == 0
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 0, done.stderr


ODD_FUNCTIONS = """
import asyncio
async def own(event): open(event["id"], "a").close()
def wrapped(event): return own(event)
class Callable:
    async def __call__(self, event): await own(event)
instance = Callable()
def generates(event): return (open("never", "w") for _ in "1")
class Unspeakable(Exception):
    def __str__(self): raise SystemExit
def unspeakable(event): raise Unspeakable
def hangs(event): return asyncio.sleep(60)
"""


def test_what_a_function_returns_is_awaited_and_nothing_counts_that_has_not_run(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(ODD_FUNCTIONS, encoding="utf-8")
    names = ("wrapped", "instance", "generates", "unspeakable", "hangs")
    route = "[route.{0}]\nwhen = \"id == '{0}'\"\ndo = [{{ handler = 'python', call = 'odd:{0}', timeout = '2s' }}]\n"
    routes = "".join(route.format(name) for name in names)
    with listening(tmp_path, routes=routes) as listener:
        assert [listener.post(event(name)).status for name in names] == [200, 200, 500, 500, 500]
        assert sorted(path.name for path in tmp_path.iterdir() if path.name in (*names, "never")) == [
            "instance", "wrapped"]  # fmt: skip
        listener.logged("generates/1: it returned a generator, of which nothing has run")
        listener.logged("unspeakable/1: Unspeakable")
        assert "no result after" in listener.logged("hangs/1: ")
        assert listener.stop() == 0
        assert "never awaited" not in listener.err


def test_forwarding_keeps_the_bytes_and_the_proof(tmp_path: Path) -> None:
    body = b'{"id":"f1" , "event_type":"grade_change","body":{"score":1.10}}\n'
    kept = {HEADER: signature(body), "content-type": "application/json", "x-own": "f1"}
    wanted = exchange("POST", "/in", body=body, headers=kept, forbidden=["authorization", "cookie"])
    with serve([wanted, exchange("POST", "/in", reply(500), None)]) as server:
        routes = (
            f'[route.r]\ndo = [{{ handler = "forward", url = "{server.url}/in", headers = {{ X-Own = "{{id}}" }} }}]\n'
        )
        with listening(tmp_path, routes=routes, environ={"LMS_SECRET": SECRET}) as listener:
            headers = {HEADER: signature(body), "Authorization": "Basic x", "Cookie": "a=b"}
            assert listener.post(body, headers).status == 200
            assert listener.send(event("f2")).status == 500
            assert "answered 500" in listener.logged("500 failed")


def test_routes_are_read_again_and_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    first = '[route.r]\ndo = [{ handler = "append", file = "one" }]\n'
    with listening(tmp_path, routes=first) as listener:
        assert listener.post(event("1")).status == 200
        (tmp_path / "routes.toml").write_text("[route.r]\nwhem = 'x'\n", encoding="utf-8")
        listener.process.send_signal(signal.SIGHUP)
        assert "keeping the old ones" in (told := listener.logged("not reloaded"))
        assert "did you mean 'when'?" in told
        assert listener.post(event("2")).status == 200
        (tmp_path / "routes.toml").write_text(first.replace("one", "two"), encoding="utf-8")
        listener.process.send_signal(signal.SIGHUP)
        listener.logged("routes reloaded: 1")
        assert listener.post(event("3")).status == 200
    assert (len(lines(tmp_path / "one")), len(lines(tmp_path / "two"))) == (2, 1)


def test_running_work_is_finished_before_the_end(tmp_path: Path) -> None:
    script(tmp_path, "h", "echo start >> log; while test ! -e go; do sleep 0.05; done; echo end >> log")
    with listening(tmp_path, "--handler", "./h") as listener, ThreadPoolExecutor(2) as pool:
        kept = listener.connect()
        assert _ready(kept) == 200
        slow = listener.connect()
        slow.sendall(b"POST /webhook HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        answer = pool.submit(listener.post, event())
        until(lambda: lines(tmp_path / "log"), "the start")
        listener.process.send_signal(signal.SIGTERM)
        until(lambda: _ready(kept) == 503, "the end of readiness")
        until(lambda: _refuses(listener), "the end of listening")
        assert listener.process.poll() is None
        (tmp_path / "go").touch()
        assert answer.result().status == 200
        assert listener.finish() == 0
        for connection in (kept, slow):
            connection.close()
    assert lines(tmp_path / "log") == ["start", "end"]


def _ready(connection: socket.socket) -> int:
    """The status on a connection that stays open."""
    connection.sendall(b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n")
    received = b""
    while not received.endswith(b"}"):
        received += connection.recv(4096)
    return int(received[9:12])


def test_a_second_signal_ends_at_once_with_all_it_started(tmp_path: Path) -> None:
    script(tmp_path, "h", "echo $$ > pid; sleep 300")
    with listening(tmp_path, "--handler", "./h") as listener:
        sender = threading.Thread(target=_ignore_failure, args=(listener.post, event()))
        sender.start()
        until(lambda: lines(tmp_path / "pid"), "the start")
        listener.process.send_signal(signal.SIGINT)
        until(lambda: _refuses(listener), "the end of listening")
        assert listener.process.poll() is None
        listener.process.send_signal(signal.SIGINT)
        assert listener.finish() == 0
        sender.join()
        until(lambda: not _alive(int(lines(tmp_path / "pid")[0])), "the end of the handler")


def _refuses(listener: object) -> bool:
    try:
        listener.connect().close()  # type: ignore[attr-defined]
    except OSError:
        return True
    return False


def _ignore_failure(work: object, *arguments: object) -> None:
    with contextlib.suppress(OSError):
        work(*arguments)  # type: ignore[operator]


BROKEN_ROUTES = {
    "do = [{ handler = 'exce', run = ['x'] }]": "no handler 'exce', did you mean 'exec'?",
    "do = [{ handler = 'exec' }]": "handler 'exec' needs 'run'",
    "do = [{ handler = 'command', run = 'op list' }]": "handler 'command' needs 'program'",
    "do = [{ handler = 'exec', run = 'a b' }]": "expected a list",
    "do = [{ handler = 'exec', run = ['x'], url = 'y' }]": "url: not a key of handler 'exec'",
    "do = [{ handler = 'python', call = 'nothing_like_it:f' }]": "No module named 'nothing_like_it'",
    "do = [{ handler = 'python', call = 'json:nope' }]": "has no 'nope'",
    "do = [{ handler = 'python', call = 'difflib:context_diff' }]": "is a generator",
    "do = [{ handler = 'append', file = 'x', timeout = '5 parsecs' }]": "timeout",
    "on = ['grade_chnage']\ndo = [{ handler = 'append', file = 'x' }]": "did you mean 'grade_change'?",
    "when = 'body.['\ndo = [{ handler = 'append', file = 'x' }]": "not an expression",
    "do = [{ handler = 'command', program = 'suite', run = 'op cal' }]": "did you mean 'op call'?",
    "do = []": "do",
    "on = 5\ndo = [{ handler = 'append', file = 'x' }]": "on",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", BROKEN_ROUTES)
def test_a_broken_route_is_refused_with_its_reason(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(f"[route.r]\n{text}\n", encoding="utf-8")
    for command in ("check", "listen"):
        done = run(tmp_path, command, "--routes", "r.toml")
        assert done.returncode == 2, done.stderr
        assert BROKEN_ROUTES[text] in done.stderr
        assert "Traceback" not in done.stderr


def test_check_names_routes_that_never_match(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(
        '[defaults.route]\ndo = [{ handler = "append", file = "x" }]\n'
        "[route.good]\nwhen = \"body.score < `60` && event_type == 'grade_change'\"\n"
        "[route.length]\non = ['grade_*']\nwhen = 'body.grade.length > `0`'\n"
        "[route.sampled]\non = ['grade_*']\nwhen = \"body.score == '60'\"\n"
        '[route.filtered]\non = ["quiz_*"]\n',
        encoding="utf-8",
    )
    done = run(tmp_path, "check", "--routes", "r.toml", "--events", "grade_*")
    assert done.returncode == 0, done.stderr
    warned = [line.split('"')[1] for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert warned == ["length", "sampled", "filtered"]
    assert "'body.score' is a number, and never '60', as far as the samples" in done.stderr
    assert "3 warnings" in done.stdout


def test_an_event_becomes_a_command(tmp_path: Path) -> None:
    wanted = {"fields": {"summary": "Low grade: user 21070000000000145"}}
    created = exchange("POST", "/rest/api/3/issue", reply(201, json={"key": "EDU-1"}), json=wanted)
    with serve([created], trusted=True) as server:
        routes = """
        [route.low]
        when = "body.score < `60`"
        [[route.low.do]]
        handler = "command"
        program = "suite"
        run     = "op call"
        params  = { id = "createIssue", data = { fields = { summary = "Low grade: user {body.user_id}" } } }
        """
        site = {"SUITE_BASE_URL": server.url, "SUITE_EMAIL": "r@example.org", "SUITE_TOKEN": TOKEN}
        with listening(tmp_path, routes=routes, environ=site) as listener:
            answer = listener.post(event(score=12, user_id=21070000000000145))
            assert answer.status == 200, listener.err
            assert listener.post(event("2", score=70)).status == 200


def test_the_record_of_each_envelope(tmp_path: Path) -> None:
    routes = (
        '[route.r]\ndo = [{ handler = "append", file = "got" }, { handler = "append", file = "raw", input = "raw" }]\n'
    )
    bodies = [
        b'{"event_type":"grade_change","body":{"a":1}}',
        b'{"metadata":{"event_name":"grade_change","event_time":"t","user":5},"data":{"a":2}}',
        b'{"id":"x","event_type":"grade_change"}',
    ]
    with listening(tmp_path, routes=routes) as listener:
        for body in bodies:
            assert listener.post(body).status == 200
    got = [json.loads(line) for line in lines(tmp_path / "got")]
    assert [(each["id"], each["event_time"], each["body"]) for each in got] == [
        (None, None, {"a": 1}), (None, "t", {"a": 2}), ("x", None, {}),
    ]  # fmt: skip
    assert got[1]["metadata"]["user"] == 5
    assert lines(tmp_path / "raw") == [body.decode() for body in bodies]
