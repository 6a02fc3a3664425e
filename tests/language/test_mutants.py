"""Definitions changed a little each: refused with file, line and the closest word, or they load and run.

What runs does the same as before, or a command tells of what is now defined in another way (an option that it no longer
has, a value that is no longer allowed): nothing breaks, and no fault of a definition is met when it is used.

A seeded sample is judged here. All of them: `CALLSHEET_MUTANTS=all python -m pytest tests/language/test_mutants.py -s`.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import run
from callsheet.errors import CallsheetError, DefinitionError
from callsheet.language import layers
from callsheet.listener.handlers import HandlerContext
from callsheet.listener.route_set import RouteSelection, read_routes
from callsheet.listener.simulated_deliveries import make_payload
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.proofs import Signature
from callsheet.listener.verify.source import Source
from support.draws import chance
from support.mutant_spots import Files, Mutant, written
from support.mutants import mutants, read_world
from support.places import CASES, DEFINITIONS

WANTED = os.environ.get("CALLSHEET_MUTANTS", "60")
BROKEN = 99
# What nobody's command line, but the definition is to blame for, and should have been told when it was read.
ODD = re.compile(
    r"unexpected \w*(Error|Exception)|unexpected answer from the site; look at|is not a list|takes no body|does not say"
)
COMMANDS = [
    ["--help"],
    ["ol", "--tag", "a,b", "--all"],
    ["orders", "list", "--state", "paid", "-o", "json", "--limit", "5"],
    ["orders", "list", "--help"],
    ["orders", "show", "7", "--long"],
    ["orders", "show", "A-1"],
    ["orders", "show", "first", "--dry-run"],
    ["orders", "new", "--sku", "A-1", "--note", "n", "--set", "A-1=x", "--dry-run"],
    ["orders", "new", "--sku", "A-1", "--note", "n", "--set", "A-1=x"],
    ["orders", "change", "7", "--sku", "A-2"],
    ["orders", "drop", "7", "8", "--yes"],
    ["orders", "notes", "--sku", "A-1"],
    ["orders", "look", "7", "--state", "open"],
    ["orders", "redo", "7", "--dry-run"],
    ["orders", "redo", "7"],
    ["orders", "pay", "7", "8"],
    ["orders", "pay", "7", "8", "--dry-run"],
    ["op", "call", "listOrders", "--all"],
    ["op", "call", "createOrder", "-d", '{"sku": "A-1"}', "--dry-run"],
    ["definitions", "show", "command", "orders list"],
]
# Where the fault is in one place, an error has to name the line of it.
IN_PLACE = ("wrong type", "unknown", "control character", "syntax", "arguments")
ORDER = {"id": 7, "sku": "A-1", "state": "open", "created": "2026-01-01T00:00:00Z", "lines": [{"note": "n"}]}


class Shop(BaseHTTPRequestHandler):
    """Answers everything with something that every request can use."""

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        data = json.dumps({**ORDER, "orders": [ORDER], "total": 1, "last": True}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


class World:
    """The directories that a mutant is written to, and what is done with it."""

    def __init__(self, root: Path, base_url: str) -> None:
        self.shipped = root / "shipped"
        shutil.copytree(DEFINITIONS / "common", self.shipped / "common")
        self.own = root / "home" / "definitions" / "demo"
        for directory in (self.shipped / "demo", self.own):
            directory.mkdir(parents=True)
        self.file, self.overlay = self.shipped / "demo" / "world.toml", self.own / "mine.toml"
        self.refused = self.works = False
        self.environ = {
            "CALLSHEET_HOME": str(root / "home"),
            "CALLSHEET_CACHE": str(root / "cache"),
            "DEMO_BASE_URL": base_url,
        }

    def write(self, world: str, overlay: str = "") -> None:
        self.file.write_text(world, encoding="utf-8")
        self.overlay.write_text(overlay, encoding="utf-8")

    def problems(self) -> list[str]:
        try:
            open_catalog("demo", self.environ).close()
        except DefinitionError as error:
            self.refused = True
            return list(error.details) or [error.message]
        self.refused = False
        return []

    def exercised(self) -> list[tuple[int, str]]:
        """The exit code and the errors of each thing that is done."""
        return [*(self._command(words) for words in COMMANDS), self._delivery()]

    def _command(self, words: list[str]) -> tuple[int, str]:
        out, err = io.StringIO(), io.StringIO()
        try:
            code = run("demo", words, environ=self.environ, stdin=io.StringIO(), stdout=out, stderr=err)
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            return BROKEN, f"{' '.join(words)}: {type(error).__name__}: {error}"
        return code, f"{' '.join(words)}: {err.getvalue()}"

    def _delivery(self) -> tuple[int, str]:
        """One signed delivery, read and routed as a listener does it."""
        try:
            with closing(open_catalog("demo", self.environ)) as catalog:
                source, jobs = self._received(catalog)
        except (CallsheetError, Rejected) as error:
            return 1, f"delivery: {error}"
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            return BROKEN, f"delivery: {type(error).__name__}: {error}"
        return 0, f"{source}: {jobs}"

    def _received(self, catalog: Any) -> tuple[str, int]:
        now = time.time()
        definition = catalog.sources.get("shop")
        next(iter(catalog.listeners.all().values()))
        payload, headers = make_payload(definition, "order.new", {"id": 7}, "e1", [])
        data = json.dumps(payload).encode()
        secrets = ["hush"] if "hmac" in definition else []
        if secrets:
            headers |= Signature(definition["hmac"], secrets).headers_for(data, headers, now)
        raw = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
        event = Source("shop", definition, secrets).receive_event(raw, b"", data, now)
        context = HandlerContext("", self.environ, frozenset(), lambda _: None, 1.0, lambda *_, **__: 0)
        rules = read_routes(catalog, RouteSelection(("shop",), (), (), ()), context)
        return event.type, len(rules.routing_table.jobs_for_event(rules.routing_table.plan_of_event(event), event))


@pytest.fixture
def world(tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path, shop)
    monkeypatch.setattr(layers, "shipped_definitions", lambda: (str(made.shipped), False))
    return made


def escaped(world: World, mutant: Mutant, usual: list[int]) -> str:
    """Why a mutant got through: nothing where it was refused as it should be, or runs as well as the world itself."""
    files = mutant.build()
    world.write(files.world, files.overlay)
    problems = world.problems()
    if problems:
        return _badly_refused(world, mutant, files, problems)
    done = world.exercised()
    world.works = [code for code, _ in done] == usual
    return next((f"accepted, then: {text}" for code, text in done if code == BROKEN or ODD.search(text)), "")


def _badly_refused(world: World, mutant: Mutant, files: Files, problems: list[str]) -> str:
    known = (str(world.file), str(world.overlay))
    if not all(re.match(r".+:\d+: ", text) and text.startswith((*known, str(world.shipped))) for text in problems):
        return f"refused without file and line: {problems}"
    if files.overlay and not any(text.startswith(str(world.overlay)) for text in problems):
        return f"refused, but not at the overlay that is the cause: {problems}"
    if mutant.near and not any(mutant.near in text.partition(": ")[2] for text in problems):
        return f"refused without the right word {mutant.near!r}: {problems}"
    if mutant.operator in IN_PLACE and not any(text.startswith(f"{world.file}:{files.line}:") for text in problems):
        return f"refused at another line than {files.line}: {problems}"
    return ""


@pytest.mark.slow
@pytest.mark.draws
def test_no_mutant_is_accepted_that_fails(world: World) -> None:
    tables = read_world(CASES / "world")
    every = mutants(tables)
    assert len(every) > 1000 or "ONLY" in os.environ
    chosen = every if WANTED == "all" else chance(12).sample(every, min(int(WANTED), len(every)))
    world.write(written(tables))
    assert world.problems() == []
    usual = [code for code, _ in world.exercised()]
    assert [text for code, text in world.exercised() if code] == []
    outcomes: Counter[str] = Counter()
    wrong = []
    for mutant in chosen:
        reason = escaped(world, mutant, usual)
        accepted = "runs the same" if world.works else "is told by the command"
        outcomes["wrong" if reason else "refused" if world.refused else accepted] += 1
        if reason:
            wrong.append(f"{mutant.operator}: {mutant.what}\n    {reason}")
    sys.stderr.write("\n".join([str(dict(outcomes)), *wrong]) + "\n")
    assert wrong == []
