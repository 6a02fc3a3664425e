"""Tools for agents: how much their list and typical answers say, the first answer, and any number of odd calls.

    python benchmarks/agents.py                            # bytes, and the first answer beside the library's import
    python benchmarks/agents.py --tokenizer FOLDER         # tokens too: a folder with the npm package gpt-tokenizer
    python benchmarks/agents.py --tasks                    # twenty tasks: calls and sizes, after `suite sandbox start`
    python benchmarks/agents.py --calls 10000              # random calls with `destroy=deny`: none may destroy

The site is a small server of this script; that of --tasks is a new sandbox.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from measure import in_turn, report

from callsheet.commands.context import Context
from callsheet.mcp.mcp_commands import toolbox_of
from callsheet.mcp.tool_calls import ConsentNeeded, Toolbox

ROOT = Path(__file__).resolve().parent.parent
BYTES_OF_A_TOKEN = 4  # about
SUITE = Path(sys.executable).parent / "suite"
DEFAULTS: dict[str, Any] = {"tools": None, "read-only": False, "write": None, "max-bytes": 16384}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
TOKENS = """
const { encode } = await import(process.argv[1] + "/node_modules/gpt-tokenizer/esm/encoding/o200k_base.js");
let text = ""; for await (const piece of process.stdin) text += piece;
console.log(encode(text).length);
"""
WORDS = [
    "DEMO-1",
    "deleteIssue",
    "getIssue",
    "submitBulkDelete",
    "../x",
    "@/etc/passwd",
    "-",
    "--yes",
    "\u202e",
    "\0",
    "%2e%2e",
]


def issue(number: int) -> dict[str, Any]:
    text = {"type": "text", "text": "The stage has to be swept before the second act. " * 20}
    fields = {
        "summary": f"Sweep the stage before act {number}",
        "status": {"name": "In Progress"},
        "assignee": {"displayName": "Robin Sample"},
        "updated": "2026-01-31T09:30:00.000+0000",
        "issuetype": {"name": "Task"},
        "priority": {"name": "Medium"},
        "description": {"type": "doc", "version": 1, "content": [{"type": "paragraph", "content": [text]}]},
    }
    return {"id": str(10000 + number), "key": f"DEMO-{number}", "fields": fields}


class Site(BaseHTTPRequestHandler):
    """Keeps what would have destroyed something."""

    destroyed: ClassVar[list[str]] = []  # one for all requests
    count = 0

    def answer(self) -> None:
        type(self).count += 1
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        milder = ("/watchers", "/label", "/votes", "/favourite")
        path = self.path.partition("?")[0]
        if (self.command == "DELETE" and not path.endswith(milder)) or path.endswith("/delete"):
            self.destroyed.append(f"{self.command} {path}")
        found: Any = {"issues": [issue(number) for number in range(50)]} if path.endswith("/jql") else issue(1)
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@contextmanager
def site() -> Iterator[dict[str, str]]:
    """The environment of a program that works on a site of this script."""
    server = ThreadingHTTPServer(("localhost", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        here = {"SUITE_BASE_URL": f"http://localhost:{server.server_address[1]}", "CALLSHEET_HOME": home}
        yield {**os.environ, **here, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "none"}
    server.shutdown()


def size(text: str, tokenizer: str | None) -> str:
    said = f"{len(text.encode()):7} bytes"
    if tokenizer is None:
        return said
    command = ["node", "--input-type=module", "-e", TOKENS, os.path.abspath(tokenizer)]
    counted = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return f"{said} {int(counted.stdout):6} tokens"


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def sizes(environ: Mapping[str, str], tokenizer: str | None) -> None:
    context = Context("suite", environ)
    for tools in (None, "all"):
        offered = toolbox_of(context, {**DEFAULTS, "tools": tools}).tools.values()
        sent = [
            {"name": each.name, "description": each.description, "inputSchema": each.input_schema} for each in offered
        ]
        print(f"{len(sent):4} tools ({tools or 'default'})".ljust(36), size(compact(sent), tokenizer))
    toolbox = toolbox_of(context, DEFAULTS)
    calls = {"50 issues": ("issues_list", {"mine": True}), "one issue": ("issues_get", {"issue": "DEMO-1"})}
    for title, (name, given) in calls.items():
        answer = toolbox.call_tool(name, given)
        print(f"{title}, as text".ljust(36), size(answer.text, tokenizer))
    print(
        "50 issues, as the service sent them".ljust(36),
        size(compact([issue(number) for number in range(50)]), tokenizer),
    )
    context.close()


def first_answer(environ: Mapping[str, str]) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    load = "import mcp.server.lowlevel, mcp.server.stdio"
    ask = f"import subprocess; subprocess.run([{str(SUITE)!r}, 'mcp', 'start'], input={hello + chr(10)!r}, text=True)"
    wait = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', {load!r}])"
    commands = {"the library's import": [sys.executable, "-c", wait], "start, answer, end": [sys.executable, "-c", ask]}
    report(in_turn(commands, environ, 7), "the library's import")


def odd_value(chance: random.Random, depth: int = 0) -> Any:
    plain = [None, True, -1, 10**20, 1.5, "", "x" * 50, *WORDS]
    if depth > 2 or chance.random() < 0.7:
        return chance.choice(plain)
    inner = [odd_value(chance, depth + 1) for _ in range(chance.randrange(3))]
    return inner if chance.random() < 0.5 else {chance.choice(WORDS): each for each in inner}


def odd_calls(environ: Mapping[str, str], count: int, seed: int) -> None:
    """Fails where a call ends in anything but an answer or a question, or where something was destroyed."""
    chance = random.Random(seed)
    context = Context("suite", {**environ, "SUITE_POLICY": "destroy=deny"})
    toolbox = toolbox_of(context, {**DEFAULTS, "tools": "all"})
    kinds = {"answers": 0, "errors": 0, "questions": 0}
    for _ in range(count):
        kinds[odd_call(toolbox, chance)] += 1
    context.close()
    print(f"{count} calls (seed {seed}): {kinds}, {Site.count} requests, destroyed: {Site.destroyed or 'nothing'}")
    if Site.destroyed:
        raise SystemExit(1)


def odd_call(toolbox: Toolbox, chance: random.Random) -> str:
    tool = chance.choice(list(toolbox.tools.values()))
    required = tool.input_schema.get("required", [])
    given = {name: chance.choice(["1", "DEMO-1", *WORDS]) for name in required if chance.random() < 0.9}
    names = [*tool.input_schema["properties"], "yes", "site"]
    given |= {chance.choice(names): odd_value(chance) for _ in range(chance.randrange(3))}
    if tool.any_operation and chance.random() < 0.5:
        given = {"id": chance.choice(toolbox.base.catalog.operations.ids()), "param": {}, "data": odd_value(chance)}
    agreed: frozenset[str] = frozenset()
    for _ in range(3):
        try:
            return "errors" if toolbox.call_tool(tool.name, given, agreed=agreed).is_error else "answers"
        except ConsentNeeded as need:
            agreed |= {need.question}
    return "questions"


def tasks() -> None:
    """What each task takes: the shortest known calls, refusals among them, and how much the answers say."""
    table = tomllib.loads((ROOT / "tests" / "cases" / "agent_tasks.toml").read_text(encoding="utf-8"))["task"]
    context = Context("suite", {**os.environ, "SUITE_SITE": "sandbox"})
    toolbox = toolbox_of(context, DEFAULTS)
    sizes = []
    for task in table:
        said, kept = [], {}
        for call in task["calls"]:
            given = {
                name: text.format(**kept) if isinstance(text, str) else text for name, text in call["with"].items()
            }
            said.append(toolbox.call_tool(call["tool"], given))
            kept |= {name: (re.search(part, said[-1].text) or "?")[1] for name, part in call.get("keep", {}).items()}
        tokens = [len(answer.text.encode()) // BYTES_OF_A_TOKEN for answer in said]
        sizes += tokens
        refused = sum(answer.is_error for answer in said)
        print(f"{len(said)} calls, {refused} refused, {sum(tokens):5} tokens  {task['asks']}")
    context.close()
    print(f"{len(table)} tasks, {len(sizes)} calls, {statistics.median(sizes):.0f} tokens of a result in the median")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer")
    parser.add_argument("--calls", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", action="store_true")
    asked = parser.parse_args()
    if asked.tasks:
        tasks()
        return
    with site() as environ:
        if asked.calls:
            odd_calls(environ, asked.calls, asked.seed)
            return
        sizes(environ, asked.tokenizer)
        first_answer(environ)


if __name__ == "__main__":
    main()
