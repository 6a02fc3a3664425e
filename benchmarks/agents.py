"""Tools for agents: how much their list and typical answers say, the first answer, and any number of odd calls.

    python benchmarks/agents.py                            # bytes, and the first answer beside the library's import
    python benchmarks/agents.py --tokenizer FOLDER         # tokens too: a folder with the npm package gpt-tokenizer
    python benchmarks/agents.py --tasks                    # forty tasks: calls, refused ones, tokens of answers
    python benchmarks/agents.py --tasks --beside PROGRAM   # beside those of mcp-atlassian, which PROGRAM starts
    python benchmarks/agents.py --calls 10000              # random calls with `destroy=deny`: none may destroy

The site is a small server of this script; that of --tasks is a new sandbox of a data center.
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
from collections.abc import Iterable, Iterator, Mapping
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
OTHER = {"PERSONAL_TOKEN": "sandbox"}
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


class ToolServer:
    """A process that offers tools over its standard input and output; its questions are answered with yes."""

    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        self.number = 0
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, env=environ, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self.ask("initialize", HELLO | {"capabilities": {"elicitation": {}}})
        self.tell(method="notifications/initialized")

    def tell(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self.number += 1
        self.tell(id=self.number, method=method, params=params)
        for line in self.process.stdout or ():
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                self.tell(id=message["id"], result={"action": "accept", "content": {"confirm": True}})
            elif message.get("id") == self.number:
                return message.get("result") or {"isError": True, "content": [{"text": compact(message["error"])}]}
        raise SystemExit("the server of tools has ended")

    def call(self, name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        """What it answers, and whether it refused: by its mark, or by an object that only says what failed."""
        answer = self.ask("tools/call", {"name": name, "arguments": given})
        text = "\n".join(part.get("text", "") for part in answer["content"])
        return text, bool(answer.get("isError")) or bool(re.match(r'\{\s*"(error|success": false)', text))

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def play(server: ToolServer, calls: Iterable[Mapping[str, Any]]) -> tuple[list[int], int]:
    """How many tokens each answer has, and how many calls were refused."""
    sizes, refused = [], 0
    kept: dict[str, str] = {}

    def kept_for(part: re.Match[str]) -> str:
        return kept.get(part[1], part[0])

    for call in calls:
        given = {
            name: re.sub(r"\{(\w+)\}", kept_for, value) if isinstance(value, str) else value
            for name, value in call["with"].items()
        }
        text, wrong = server.call(call["tool"], given)
        kept |= {name: (re.search(part, text) or "?")[1] for name, part in call.get("keep", {}).items()}
        sizes.append(len(text.encode()) // BYTES_OF_A_TOKEN)
        refused += wrong
    return sizes, refused


def tasks(other: str | None) -> None:
    """What each task takes, side by side; each server and each list begins with a new site."""
    shortest = tomllib.loads((ROOT / "tests" / "cases" / "agent_tasks.toml").read_text(encoding="utf-8"))["task"]
    table = tomllib.loads(Path(__file__).with_name("agent_tasks.toml").read_text(encoding="utf-8"))
    known = [{**task, "suite": first["calls"]} for task, first in zip(table["known"], shortest, strict=True)]
    servers = ["suite", *(["mcp-atlassian"] if other else [])]
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home, "SUITE_SITE": "sandbox"}
        for title, listed in (("shortest known calls", known), ("calls by the descriptions alone", table["read"])):
            found = {name: played(name, listed, environ, other) for name in servers}
            print(f"\n{title}: calls, refused ones, tokens of the answers ({', '.join(servers)})")
            for place, task in enumerate(listed):
                shown = [
                    f"{len(sizes):2} {refused} {sum(sizes):5}" if sizes else "    no tool"
                    for sizes, refused in (found[name][place] for name in servers)
                ]
                print("   ".join(shown), "  ", task["asks"])
            for name in servers:
                sizes = [size for each, _ in found[name] for size in each]
                refused = sum(count for _, count in found[name])
                print(
                    f"{name}: {len(sizes)} calls, {refused} refused,",
                    f"{statistics.median(sizes):.0f} tokens of an answer in the median, {sum(sizes)} in all",
                )
        print("the shortest known ways of the second list take", sum(task["fewest"] for task in table["read"]), "calls")


def played(
    name: str, listed: list[dict[str, Any]], environ: dict[str, str], other: str | None
) -> list[tuple[list[int], int]]:
    start = [str(SUITE), "sandbox", "start", "--deployment", "datacenter", "--quiet", "-o", "json", "--jq", ".base_url"]
    url = subprocess.run(start, env=environ, check=True, capture_output=True, text=True).stdout.strip()
    if name == "suite":
        server = ToolServer([str(SUITE), "mcp", "start"], environ)
    else:
        site = {f"{app}_{key}": value for app in ("JIRA", "CONFLUENCE") for key, value in OTHER.items()}
        address = {"JIRA_URL": url, "CONFLUENCE_URL": url, "TOOLSETS": "all"}
        server = ToolServer([str(other)], environ | site | address)
    tools = server.ask("tools/list", {})["tools"]
    sent = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]
    print(f"{name}: {len(tools)} tools, {len(compact(sent).encode()) // BYTES_OF_A_TOKEN} tokens of descriptions")
    found = [play(server, task[name]) for task in listed]
    server.close()
    subprocess.run([str(SUITE), "sandbox", "stop", "--quiet"], env=environ, check=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer")
    parser.add_argument("--calls", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", action="store_true")
    parser.add_argument("--beside", metavar="PROGRAM")
    asked = parser.parse_args()
    if asked.tasks:
        tasks(asked.beside)
        return
    with site() as environ:
        if asked.calls:
            odd_calls(environ, asked.calls, asked.seed)
            return
        sizes(environ, asked.tokenizer)
        first_answer(environ)


if __name__ == "__main__":
    main()
