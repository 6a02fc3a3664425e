"""Ctrl-C in a real process, in the middle of each thing that takes long."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.places import TESTS
from support.sampled import sampled
from support.server import exchange, reply, serve

PROGRAM = textwrap.dedent(
    """
    import sys
    sys.path.insert(0, sys.argv[4])
    from support.fakes import Definitions, FakeSite
    from support.shop import DEFINITIONS
    from callsheet.client.http.http_client import Client
    from callsheet.client.http.download import save_to
    from callsheet.client.pagination.fetch_pages import fetch_pages
    from callsheet.client.pagination.paging_plan import plan_of
    from callsheet.client.request.build import Builder

    what, url, path = sys.argv[1:4]
    text = DEFINITIONS + '''
    [paginator.offset]
    kind = "offset"
    send = "startAt"
    size = "maxResults"
    total = "total"

    [operation.list]
    product = "items"
    http = "GET /list"
    paginate = { using = "offset", items = "values" }
    '''
    site, definitions = FakeSite(url, timeout=600.0), Definitions(text)
    builder = Builder(definitions, site, "suite")
    client = Client(site, definitions)
    if what == "wait":
        client.send(builder.build_request("getItem", {"id": "1"}))
    elif what == "answer":
        client.send(builder.build_request("putItem", {"id": "1"}))
    elif what == "download":
        save_to(client, builder.build_request("getPicture", {"id": "1"}), path)
    else:
        plan = plan_of(definitions, builder.operation_call("list"))
        for page in fetch_pages(client.send, plan, builder.build_request("list", {})):
            print(len(page.items), flush=True)
    """
)


AT_LEAST = 50.0  # seconds; how long it takes without an interrupt


def endless() -> Iterator[bytes]:
    yield b"x" * 65536
    for _ in range(600):
        time.sleep(0.1)
        yield b"x"


def script() -> list[object]:
    slow = {"delay": AT_LEAST}
    return [
        exchange("GET", "/api/3/item/1", reply(503, headers={"Retry-After": f"{AT_LEAST:g}"}), repeat=None),
        exchange("PUT", "/api/3/item/1", reply(200, json={}, **slow), repeat=None),
        exchange(
            "GET", "/api/3/item/1/picture", reply(chunks=endless, headers={"Content-Length": "100000"}), repeat=None
        ),
        exchange("GET", "/list", reply(json={"total": 1000, "values": [1, 2]})),
        exchange("GET", "/list", reply(json={"total": 1000, "values": [1, 2]}, **slow), repeat=None),
    ]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to another process there")
@pytest.mark.parametrize(("what", "requests"), sampled([("wait", 1), ("answer", 1), ("download", 1), ("pages", 2)], 2))
def test_an_interrupt_ends_it_at_once(what: str, requests: int, tmp_path: Path) -> None:
    with serve(script(), verify=False, trusted=True) as server:
        command = [
            sys.executable,
            "-c",
            PROGRAM,
            what,
            server.url,
            str(tmp_path / "out"),
            str(TESTS),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(process, lambda: len(server.requests) >= requests)
            if what == "download":
                wait_until(process, lambda: any(file.stat().st_size for file in tmp_path.iterdir()))
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=AT_LEAST - 5)
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert list(tmp_path.iterdir()) == []


def wait_until(process: subprocess.Popen[str], holds: Callable[[], bool]) -> None:
    while not holds():
        assert process.poll() is None, process.communicate()
        threading.Event().wait(0.02)
