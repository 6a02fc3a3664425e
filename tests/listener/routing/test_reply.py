"""The answer that a route makes of an event and of what its handler gave, and what counts as a success."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.listening import event, listening, run
from support.server import exchange, reply, serve

PRINTS = f"""[route.greet]
do = [{{ handler = "exec", run = ["{sys.executable}", "print.py"] }}]

[route.greet.reply]
status  = "{{body.status || `200`}}"
headers = {{ Content-Type = "text/html", X-Of = "{{body.name}}" }}
body    = "Hello {{body.name}}: {{result.output}}"
"""
HTML = {"content-type": "text/html", "x-content-type-options": "nosniff"}


def written(folder: Path, script: str, name: str = "print.py") -> None:
    (folder / name).write_text(script, encoding="utf-8")


def test_a_program_answers_and_values_stay_values(tmp_path: Path) -> None:
    written(tmp_path, "import sys; print(len(sys.stdin.read()) > 9); open('runs', 'a').write('.')")
    with listening(tmp_path, routes=PRINTS) as listener:
        answer = listener.send(event("1", name="Ada"))
        assert (answer.status, answer.body) == (200, b"Hello Ada: True\n")
        assert {name: answer.headers[name] for name in HTML} == HTML
        assert answer.headers["content-length"] == str(len(answer.body))

        evil = listener.send(event("2", name="x\r\nSet-Cookie: a=1", status=201))
        assert evil.status == 201
        assert "set-cookie" not in evil.headers
        assert evil.headers["x-of"] == "x%0D%0ASet-Cookie: a=1"

        assert listener.send(event("1", name="Ada")).body == b"", "a repetition is not run again, so nothing is printed"
        assert (tmp_path / "runs").read_text() == ".."


def test_an_answer_that_refuses_is_a_failure_that_runs_again(tmp_path: Path) -> None:
    written(tmp_path, "open('runs', 'a').write('.')")
    with listening(tmp_path, routes=PRINTS) as listener:
        for runs in ("." * number for number in (1, 2)):
            answer = listener.send(event("1", name="Ada", status=422))
            assert (answer.status, answer.body) == (422, b"Hello Ada: ")
            assert (tmp_path / "runs").read_text() == runs
        assert "422 failed" in listener.logged("greet/1: replied 422")


@pytest.mark.parametrize("status", [99, 150, 302, 299, 600, "ok", "200 OK\r\nX: y", [200], True, 2**70, 204])
def test_a_status_that_cannot_be_sent(status: object, tmp_path: Path) -> None:
    written(tmp_path, "")
    with listening(tmp_path, routes=PRINTS) as listener:
        answer = listener.send(event("1", name="Ada", status=status))
        assert (answer.status, answer.body) == (500, b'{"error":"handling failed"}')
        listener.logged("an answer 204 has no body" if status == 204 else "reply: status: expected a status of HTTP")
        assert listener.send(event("2", name="Ada")).status == 200


def test_what_is_too_long_is_no_answer(tmp_path: Path) -> None:
    written(tmp_path, "import json, sys; print('x' * json.load(sys.stdin)['body']['length'])")
    with listening(tmp_path, routes=PRINTS) as listener:
        assert len(listener.send(event("1", name="Ada", length=65000)).body) > 65000
        assert listener.send(event("2", name="Ada", length=65536)).status == 500
        listener.logged("printed more than 65536 bytes")
        assert listener.send(event("3", name="y" * 600, length=65000)).status == 500
        listener.logged("more than 65536")
        assert len(max(listener.err.splitlines(), key=len)) < 9000, "the log gets no more than before"


def test_a_failed_handler_has_no_answer(tmp_path: Path) -> None:
    written(tmp_path, "print('secret'); exit(3)")
    with listening(tmp_path, routes=PRINTS) as listener:
        answer = listener.send(event("1", name="Ada"))
        assert (answer.status, answer.body) == (500, b'{"error":"handling failed"}')


def test_success_is_what_the_route_says(tmp_path: Path) -> None:
    written(tmp_path, "import json, sys; print('so'); exit(json.load(sys.stdin)['body']['code'])")
    program = f'handler = "exec", run = ["{sys.executable}", "print.py"]'
    routes = f"""[route.judged]
do    = [{{ {program}, success = "contains([`0`, `3`], result.exit_code) && starts_with(result.output, 'so')" }}]
reply = {{ body = {{ code = "{{result.exit_code}}" }} }}
"""
    with listening(tmp_path, routes=routes) as listener:
        answer = listener.send(event("1", code=3))
        assert (answer.status, json.loads(answer.body)) == (200, {"code": 3})
        assert answer.headers["content-type"] == "application/json"
        assert listener.send(event("2", code=4)).status == 500
        listener.logged("judged/1: exit code 4")


def test_success_can_ask_for_more_than_the_exit_code(tmp_path: Path) -> None:
    written(tmp_path, "print('no')")
    routes = f"""[route.judged]
do = [{{ handler = "exec", run = ["{sys.executable}", "print.py"], success = "starts_with(result.output, 'so')" }}]
"""
    with listening(tmp_path, routes=routes) as listener:
        assert listener.send(event("1")).status == 500
        listener.logged("judged/1: no success: starts_with(result.output, 'so')")


def test_what_another_server_says_is_passed_on(tmp_path: Path) -> None:
    replies = [
        exchange("POST", "/in/1", reply(headers={"X-Took": "7"}, json={"score": 1.5, "<b>": "ü"})),
        exchange("POST", "/in/2", reply(409, json={"why": "there"})),
        exchange("POST", "/in/3", reply(text="x" * 70000)),
    ]
    with serve(replies) as server:
        routes = f"""[route.ask]
do    = [{{ handler = "forward", url = "{server.url}/in/{{id}}", success = "result.status < `500`" }}]

[route.ask.reply]
status  = "{{result.status}}"
headers = {{ X-Took = '{{result.headers."x-took"}}' }}
body    = "{{result.body}}"
"""
        with listening(tmp_path, routes=routes) as listener:
            first = listener.send(event("1"))
            assert (first.status, json.loads(first.body), first.headers["x-took"]) == (
                200,
                {"score": 1.5, "<b>": "ü"},
                "7",
            )
            second = listener.send(event("2"))
            assert (second.status, json.loads(second.body)) == (409, {"why": "there"})
            assert listener.send(event("3")).status == 500
            listener.logged("an answer of more than 65536 bytes")


@pytest.mark.parametrize("extra", ["", ", process = true"])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_function_answers(kind: str, extra: str, tmp_path: Path) -> None:
    written(
        tmp_path, f"{kind} answer(event):\n    return eval(event['body']['gives'])\n", f"answers{tmp_path.name[-1]}.py"
    )
    call = f"answers{tmp_path.name[-1]}:answer"
    routes = f"""[route.ask]
do    = [{{ handler = "python", call = "{call}"{extra} }}]
reply = {{ body = "{{result}}" }}
"""
    with listening(tmp_path, routes=routes) as listener:
        assert listener.send(event("1", gives="{'a': (1, None)}")).body == b'{"a": [1, null]}'
        assert listener.send(event("2", gives="'caf\\u00e9'")).body == "café".encode()
        assert listener.send(event("3", gives="None")).body == b""
        for id, gives in (("4", "object()"), ("5", "float('nan')"), ("6", "'x' * 70000")):
            assert listener.send(event(id, gives=gives)).status == 500
        listener.logged("what it returned is not JSON")
        listener.logged("what it returned has more than 65536 characters")
        assert listener.send(event("7", gives="1")).body == b"1"


def test_the_first_route_answers_and_all_have_to_succeed(tmp_path: Path) -> None:
    do = f'do = [{{ handler = "exec", run = ["{sys.executable}", "print.py"] }}]\n'
    routes = "".join(f'[route.{name}]\n{do}reply = {{ body = "{name}" }}\n' for name in ("second", "first"))
    failing = (
        f'[route.broken]\nwhen = "body.breaks"\ndo = [{{ handler = "exec", run = ["{sys.executable}", "none.py"] }}]\n'
    )
    written(tmp_path, "import time, json, sys; time.sleep(json.load(sys.stdin)['body'].get('seconds', 0))")
    with listening(tmp_path, routes=routes + failing) as listener:
        assert listener.send(event("1")).body == b"second"
        assert listener.send(event("2", breaks=True)).status == 500


@pytest.mark.parametrize(("given", "says"), [
    ('headers = { Content-Length = "1" }', "headers: 'content-length' is set by the program"),
    ('status = 204\nbody = "x"', "an answer 204 has no body"),
    ("status = 302", "expected a status of HTTP"),
    ('status = "fine"', "expected a status of HTTP"),
    ('body = "{results}"', "results"),
    ("stats = 200", "stats"),
])  # fmt: skip
def test_what_no_answer_can_have_is_found_before(given: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(
        f'[route.r]\ndo = [{{ handler = "append", file = "got" }}]\n[route.r.reply]\n{given}\n', encoding="utf-8"
    )
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 2
    assert says in done.stderr
    assert "routes.toml" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_route_with_several_handlers_cannot_answer(tmp_path: Path) -> None:
    append = '{ handler = "append", file = "got" }'
    (tmp_path / "routes.toml").write_text(f"[route.r]\ndo = [{append}, {append}]\nreply = {{}}\n", encoding="utf-8")
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 2
    assert "the route must have one handler" in done.stderr


def test_the_event_alone_answers(tmp_path: Path) -> None:
    routes = (
        '[route.r]\ndo = [{ handler = "append", file = "got" }]\nreply = { body = { id = "{id}", of = "{result}" } }\n'
    )
    with listening(tmp_path, routes=routes) as listener:
        assert listener.send(event("7")).body == b'{"id": "7"}'
        assert (tmp_path / "got").read_text(encoding="utf-8").count("\n") == 1


@pytest.mark.parametrize("words", [
    ["check", "--listen", "--addr", ":0", "--inbox", "in.db"],
    ["check", "--queue", "nats://127.0.0.1:9/EVENTS"],
    ["work", "--queue", "nats://127.0.0.1:9/EVENTS"],
    ["listen", "--addr", ":0", "--inbox", "in.db"],
], ids=["check-inbox", "check-queue", "work", "listen"])  # fmt: skip
def test_an_inbox_answers_before_handlers_run(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text('[route.r]\ndo = [{ handler = "append", file = "got" }]\nreply = {}\n')
    done = run(tmp_path, *words, "--routes", "routes.toml")
    assert done.returncode in (1, 2)
    assert 'route "r": reply: with an inbox or a queue' in done.stderr + done.stdout
    assert "leave out --inbox and --queue, or reply" in done.stderr + done.stdout
