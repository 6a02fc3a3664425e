"""A listener with its page, and what the page's own server answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from support.listening import SECRET, Listener, listening

FUNCTIONS = """
def good(event):
    return {"ok": True}

def bad(event):
    raise ValueError("no such student")
"""
ROUTES = """
[route.print]
on = ["grade_change"]
do = [{ handler = "exec", run = ["echo", "printed"] }]

[route.high]
on   = ["grade_change"]
when = "body.score > `60`"
do   = [{ handler = "python", call = "mine:bad" }]

[route.courses]
on = ["course_*"]
do = [{ handler = "python", call = "mine:good" }]
"""


class PageOfListener(NamedTuple):
    host: str
    token: str

    def ask(self, path: str, given: Any = None, **headers: str) -> tuple[int, Any]:
        connection = HTTPConnection(self.host, timeout=30)
        shown = {"Authorization": f"Bearer {self.token}", **headers}
        body = None if given is None else json.dumps(given)
        connection.request("GET" if given is None else "POST", path, body, shown)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if answer.getheader("content-type") == "application/json" else text


def page_of(listener: Listener, home: Path) -> PageOfListener:
    told = listener.logged("note: page: ")
    path = re.search(r"is in (.*\.url)", told)
    assert path
    file = Path(path[1])
    assert file.is_relative_to(home)
    assert file.stat().st_mode & 0o077 == 0
    host, _, token = file.read_text(encoding="utf-8").strip().removeprefix("http://").partition("/#")
    assert token not in listener.err
    return PageOfListener(host, token)


@contextmanager
def listening_with_page(tmp_path: Path, *words: str, **environ: str) -> Iterator[tuple[Listener, PageOfListener]]:
    (tmp_path / "mine.py").write_text(FUNCTIONS, encoding="utf-8")
    home = tmp_path / "home"
    variables = {"LMS_SECRET": SECRET, "CALLSHEET_HOME": str(home), **environ}
    with listening(tmp_path, "--ui", *words, routes=ROUTES, environ=variables) as listener:
        yield listener, page_of(listener, home)
