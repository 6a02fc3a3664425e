"""Functions that get a program beside each event: plain, async and in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

import callsheet
from support.listening import SECRET, event, listening, run
from support.simulated import TOKEN, serving

FUNCTIONS = """
import asyncio

def plain(event, suite):
    suite.issues.comment(event["body"]["key"], body=f"plain **{event['id']}**")

async def later(event, suite):
    await asyncio.to_thread(suite.issues.comment, event["body"]["key"], body=f"async {event['id']}")

def wrong(event, suite):
    suite.issues.get("DEMO-999")

def alone(event):
    pass
"""
ROUTE = """
[route.{0}]
when = "id == '{0}'"
do   = [{{ handler = "python", call = "mine:{1}", program = "suite", site = "shop"{2} }}]
"""
PROFILES = '[sites.shop]\nbase_url = "{url}"\nmethod = "basic"\nemail = "robin@example.org"\ntoken_env = "SHOP_TOKEN"\n'


@pytest.mark.slow
def test_functions_get_a_program_at_their_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(FUNCTIONS, encoding="utf-8")
    routes = "".join(
        ROUTE.format(*each)
        for each in (("a", "plain", ""), ("b", "later", ""), ("c", "plain", ", process = true"), ("d", "wrong", ""))
    )
    home = tmp_path / "home"
    home.mkdir()
    with serving() as url:
        (home / "profiles.toml").write_text(PROFILES.format(url=url), encoding="utf-8")
        environ = {"LMS_SECRET": SECRET, "SHOP_TOKEN": TOKEN, "CALLSHEET_HOME": str(home)}
        with listening(tmp_path, routes=routes, environ=environ) as listener:
            assert [listener.send(event(id, key="DEMO-4")).status for id in "abc"] == [200, 200, 200], listener.err
            assert listener.send(event("d", key="DEMO-4")).status == 500
            assert "NotFound: " in listener.logged("500 failed")
            assert listener.stop() == 0
            assert "ResourceWarning" not in listener.err
        monkeypatch.setenv("CALLSHEET_HOME", str(home))
        with callsheet.open("suite", base_url=url, email="robin@example.org", token=TOKEN) as suite:
            said = str([each["body"] for each in suite.op.getComments(issueIdOrKey="DEMO-4")])
    assert all(text in said for text in ("'a'", "'async b'", "'c'")), said


BROKEN = {
    'call = "mine:alone", program = "suite"': "gets the event and the program: too many positional arguments",
    'call = "mine:plain"': "gets the event alone: missing a required argument: 'suite'",
    'call = "mine:plain", program = "siute"': "did you mean 'suite'?",
    'call = "mine:plain", program = "suite", site = "nope"': "unknown site 'nope'",
    'call = "mine:alone", site = "shop"': "site: needs 'program' beside it",
}


@pytest.mark.parametrize("table", BROKEN)
def test_what_cannot_be_called_is_refused_before_the_first_event(table: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "routes.toml").write_text(f'[route.r]\ndo = [{{ handler = "python", {table} }}]\n', encoding="utf-8")
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 2
    assert BROKEN[table] in done.stderr
