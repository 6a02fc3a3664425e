"""The screen of `suite` over a simulated site: lists, things, actions with their questions, undo."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import process_time
from typing import Any

import pytest

import callsheet
from callsheet.cli.main import run, run_literally
from callsheet.commands.context import Context
from callsheet.errors import UsageError
from callsheet.installation import how_to_add
from callsheet.output.columns import Column, FormatContext
from callsheet.policy.policy_sources import from_variable
from callsheet.screen.call import CommandAnswer, CommandLine, Person, ScreenCall, run_line
from callsheet.screen.list_page import ListPage
from callsheet.screen.row_list import Table, plain_line, plain_text, row_of, styled_text
from callsheet.screen.start import show_screen
from callsheet.screen.text_page import TextPage
from callsheet.sites.site import CatalogNames
from support.canary import SITES, TOKEN
from support.hostile_text import EVERYTHING, acts
from support.moving import Mover, move
from support.sampled import sampled
from support.server import exchange, reply, serve
from support.waiting import PATIENCE

DEMO = ["issues", "list", "--project", "DEMO"]


@pytest.fixture
def issue(sandbox: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Read an issue as the site has it, beside the screen."""
    monkeypatch.setenv("CALLSHEET_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("CALLSHEET_CACHE", str(cache))

    def read(key: str) -> Any:
        with callsheet.open("suite", base_url=sandbox, email="robin@example.org", token=TOKEN) as program:
            return program.op.getIssue(issueIdOrKey=key)["fields"]

    return read


def test_the_first_page_has_the_lists_that_need_nothing(suite: Context) -> None:
    async def work(person: Mover) -> None:
        assert "issues mine" in person.shown()
        assert "issues comments" not in person.shown()  # it has to be told of which issue
        await person.press("slash")
        await person.type("issues mine", "enter", "enter")
        assert "DEMO-3" in person.shown()
        await person.press("q")
        assert "issues mine" in person.shown()

    move(suite, [], work)


def test_a_program_of_ones_own_has_a_screen(tmp_path: Path) -> None:
    """Its lists come whole, and its commands are found by what they look up."""
    order = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}

    def answers(schema: Any) -> Any:
        return {"200": {"description": "it", "content": {"application/json": {"schema": schema}}}}

    taken = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    paths = {
        "/orders": {"get": {"operationId": "listOrders", "responses": answers({"type": "array", "items": order})}},
        "/orders/{id}": {"get": {"operationId": "getOrder", "parameters": [taken], "responses": answers(order)}},
    }
    document = {"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "paths": paths}
    (tmp_path / "shop.json").write_text(json.dumps(document), encoding="utf-8")
    environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path / "home"), "CALLSHEET_CACHE": str(tmp_path / "cache")}
    new = ["new", "shop", "--from", str(tmp_path / "shop.json"), "--bin", str(tmp_path / "bin")]
    exchanges = [
        exchange("GET", "/orders", reply(json=[{"id": 7, "name": "Seven"}])),
        exchange("GET", "/orders/7", reply(json={"id": 7, "name": "Seven"})),
    ]
    with serve(exchanges) as server:
        SITES.add(server.url)
        assert run("callsheet", [*new, "--base-url", server.url], environ=environ) == 0
        context = Context("shop", environ)
        context.options["base-url"] = server.url

        async def work(person: Mover) -> None:
            assert "orders list" in person.shown()
            await person.press("enter")
            assert "Seven" in person.shown(), person.told()
            await person.press("enter")
            assert len(server.requests) == 2

        move(context, [], work)
        context.close()


def test_a_filter_narrows_as_one_types_and_escape_takes_it_back(suite: Context) -> None:
    async def work(person: Mover) -> None:
        everything = person.shown()
        assert everything.count("DEMO-") > 5
        await person.press("slash")
        await person.type("BASKET for")
        assert person.shown().count("DEMO-") == 1
        assert "The basket forgets" in person.shown()
        await person.press("escape")
        assert person.shown().count("DEMO-") == everything.count("DEMO-")

    move(suite, DEMO, work)


@pytest.mark.parametrize(("width", "beside"), sampled([(60, False), (140, True), (200, True), (100, False)], 2))
def test_a_thing_is_shown_in_full_beside_its_list_where_there_is_room(
    suite: Context, width: int, *, beside: bool
) -> None:
    async def work(person: Mover) -> None:
        await person.press("enter")
        assert "Description" in person.shown()
        assert ("KEY" in person.shown() and "UPDATED" in person.shown().split("\n")[1]) == beside
        assert all(len(line) <= width for line in person.shown().split("\n"))
        await person.press("escape")
        assert "Description" not in person.shown()

    move(suite, ["issues", "list", "--jql", "key = DEMO-3"], work, size=(width, 30))


@pytest.mark.slow
def test_an_action_asks_with_the_menu_of_the_command_and_undo_takes_it_back(
    suite: Context, issue: Callable[..., Any]
) -> None:
    async def work(person: Mover) -> None:
        await person.press("x")
        await person.type("issues transition", "enter")
        assert "Move to" in person.shown()
        await person.type("done", "enter")
        assert issue("DEMO-10")["status"]["name"] == "Done"
        assert "moved to Done" in person.told()
        assert "Done" in person.shown()  # the list was asked for again
        await person.press("u")
        await person.press("y")
        assert issue("DEMO-10")["status"]["name"] == "To Do"

    move(suite, ["issues", "list", "--jql", "key = DEMO-10"], work)


@pytest.mark.slow
def test_a_question_that_one_turns_away_from_sends_nothing(suite: Context, issue: Callable[..., Any]) -> None:
    async def work(person: Mover) -> None:
        await person.press("x")
        await person.type("issues transition", "enter")
        await person.press("escape")
        assert "nothing was done" in person.told()
        await person.press("x")
        await person.type("issues delete", "enter")
        assert "DEMO-10" in person.shown()
        await person.press("n")
        assert "nothing was sent" in person.told()
        assert issue("DEMO-10")["status"]["name"] == "To Do"

    move(suite, ["issues", "list", "--jql", "key = DEMO-10"], work)


def test_a_comment_is_written_in_the_editor(
    suite: Context, issue: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text("import sys; open(sys.argv[1], 'a').write('From the **editor**')\n", encoding="utf-8")
    suite.environ = {**suite.environ, "EDITOR": f"{sys.executable} {editor}"}
    monkeypatch.setattr("textual.app.App.suspend", lambda self: __import__("contextlib").nullcontext())

    async def work(person: Mover) -> None:
        await person.press("x")
        await person.type("issues comment", "enter")
        assert "issues comment:" in person.told()
        assert issue("DEMO-10")["comment"]["comments"][-1]["body"]["content"][0]["content"][0]["text"] == "From the "

    move(suite, ["issues", "list", "--jql", "key = DEMO-10"], work)


@pytest.mark.slow
def test_a_policy_refuses_and_asks_as_on_the_command_line(suite: Context, issue: Callable[..., Any]) -> None:
    suite.restrictions = (
        from_variable("destroy=deny,write=ask", "policy", CatalogNames(suite.catalog, suite.environ)),
    )

    async def work(person: Mover) -> None:
        await person.press("x")
        await person.type("issues assign", "enter")
        await person.type("none", "enter")
        assert "y yes" in person.shown()
        await person.press("n")
        assert issue("DEMO-10")["assignee"] is not None
        await person.press("x")
        await person.type("issues delete", "enter")
        await person.press("y")
        assert "error: " in person.told()
        assert issue("DEMO-10")["summary"]

    move(suite, ["issues", "list", "--jql", "key = DEMO-10"], work)


@pytest.mark.slow
def test_the_palette_runs_a_chosen_command_and_a_line_as_it_is_typed(suite: Context) -> None:
    async def work(person: Mover) -> None:
        await person.press("colon")
        await person.type("spaces list", "enter")
        assert "DOC" in person.shown()
        await person.press("colon")
        await person.type("issues list --jql 'key = DEMO-5'", "enter")
        assert "Search finds" in person.shown()
        await person.press("colon")
        await person.type("issues list --bogus", "enter")
        assert "no such option --bogus" in person.told()
        await person.press("colon")
        await person.type("issues get 'DEMO", "enter")
        assert "No closing quotation" in person.told()
        await person.press("colon")
        await person.type("mcp start --site x", "enter")
        assert "needs the terminal for itself" in person.told()

    move(suite, [], work)


def test_a_tree_is_folded(suite: Context) -> None:
    async def work(person: Mover) -> None:
        assert "DEMO-5" in person.shown()
        await person.press("z")
        assert "DEMO-5" not in person.shown()
        await person.press("z")
        assert "DEMO-5" in person.shown()

    move(suite, ["issues", "tree", "DEMO-1"], work)


def test_a_card_is_moved_to_another_column_by_its_command(suite: Context, issue: Callable[..., Any]) -> None:
    async def work(person: Mover) -> None:
        await person.press("b")
        assert [line for line in person.shown().split("\n") if "To Do" in line and "Done" in line]
        assert "STATUS of" in person.shown()
        await person.press("l", "l", "right", "h", "left")
        await person.press("L")
        assert "u takes back what was changed" in person.told()
        assert issue("DEMO-10")["status"]["name"] == "In Progress"
        assert "To Do (0)" in person.shown()
        await person.press("u")
        await person.press("y")
        assert issue("DEMO-10")["status"]["name"] == "To Do"
        await person.press("b")
        assert "ASSIGNEE of" in person.shown()
        await person.press("q", "b")
        assert "STATUS of" in person.shown()

    move(suite, ["issues", "list", "--jql", "key in (DEMO-10, DEMO-6, DEMO-9)"], work)


def test_a_row_and_a_card_are_moved_in_the_order_that_people_make(suite: Context) -> None:
    def order(person: Mover, *keys: str) -> list[str]:
        below_title = person.shown().partition("\n")[2]
        return sorted(keys, key=below_title.index)

    async def work(person: Mover) -> None:
        keys = ("DEMO-4", "DEMO-5", "DEMO-8")
        assert order(person, *keys) == ["DEMO-4", "DEMO-5", "DEMO-8"]
        await person.press("J")
        assert order(person, *keys) == ["DEMO-5", "DEMO-4", "DEMO-8"]
        await person.press("J")
        assert order(person, *keys) == ["DEMO-5", "DEMO-8", "DEMO-4"]
        await person.press("J")  # there is nothing below
        assert order(person, *keys) == ["DEMO-5", "DEMO-8", "DEMO-4"]
        await person.press("b", "j", "j", "K")
        assert "STATUS of" in person.shown()
        assert order(person, *keys) == ["DEMO-5", "DEMO-4", "DEMO-8"]

    move(suite, ["boards", "issues", "1", "--jql", "key in (DEMO-4, DEMO-5, DEMO-8)"], work)


def test_rows_in_no_order_that_people_make_stay(suite: Context) -> None:
    async def work(person: Mover) -> None:
        await person.press("J")
        assert "in no order" in person.told()

    move(suite, ["issues", "list", "--jql", "key in (DEMO-10, DEMO-6)"], work)


def test_a_list_that_no_command_changes_has_no_board(suite: Context) -> None:
    async def work(person: Mover) -> None:
        await person.press("b")
        assert "has no board" in person.told()

    move(suite, ["spaces", "list"], work)


def test_the_next_page_comes_when_the_last_row_is_pointed_at(suite: Context) -> None:
    async def work(person: Mover) -> None:
        page = person.app.screen
        assert isinstance(page, ListPage)
        assert len(page.rows.shown) == 3
        await person.press("G")
        assert len(page.rows.shown) == 6
        await person.press("r")
        assert len(page.rows.shown) == 6

    move(suite, [*DEMO, "--limit", "3"], work)


@pytest.mark.slow
def test_a_list_that_is_looked_at_is_asked_for_again(suite: Context, sandbox: str) -> None:
    async def work(person: Mover) -> None:
        environ = dict(suite.environ)
        values = {"issue": ["DEMO-10"], "summary": "Changed elsewhere"}
        assert await asyncio.to_thread(run_literally, "suite", ["issues", "edit"], values, environ=environ) == 0
        await person.until(lambda: "Changed elsewhere" in person.shown())

    move(suite, ["issues", "list", "--jql", "key = DEMO-10"], work, every=1)


@pytest.mark.slow
def test_keys_and_errors_are_told(suite: Context) -> None:
    async def work(person: Mover) -> None:
        await person.press("question_mark")
        assert isinstance(person.app.screen, TextPage)
        assert "Filter" in person.shown()
        await person.press("q")
        await person.press("colon")
        await person.type("issues get DEMO-999 ", "enter")
        assert "error:" in person.told()

    move(suite, DEMO, work)


@pytest.mark.slow
def test_keys_act_on_the_thing_that_is_shown_though_it_left_its_list(suite: Context) -> None:
    async def work(person: Mover) -> None:
        page = person.app.screen
        assert isinstance(page, ListPage)
        first, second, *_ = [row.id for row in page.rows.shown]
        await person.press("enter", "x")
        await person.type("issues transition", "enter")
        await person.type("done", "enter")
        assert first not in [row.id for row in page.rows.shown]
        await person.press("x")
        assert f" {first} " in person.shown()
        assert f" {second} " not in person.shown()
        await person.press("escape", "escape", "x")
        assert f" {second} " in person.shown()

    move(suite, ["issues", "list", "--jql", "project = DEMO and status = 'To Do'"], work, size=(80, 30))


def test_a_card_that_was_moved_is_moved_on_by_the_next_key(suite: Context, issue: Callable[..., Any]) -> None:
    async def work(person: Mover) -> None:
        await person.press("b")
        await person.press("L")
        await person.press("L")
        assert issue("DEMO-10")["status"]["name"] not in ("To Do", "In Progress")

    move(suite, ["issues", "list", "--jql", "key in (DEMO-10, DEMO-6, DEMO-9)"], work)


def test_a_list_that_is_left_while_it_loads_is_hung_up_at_the_end(
    suite: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, hung_up = Event(), Event()
    monkeypatch.setattr(ScreenCall, "hang_up", lambda call: hung_up.set())

    def load(base: Context, person: Person, line: CommandLine, started: Callable[[ScreenCall], None]) -> CommandAnswer:
        def start(call: ScreenCall) -> None:
            started(call)
            begun.set()
            assert hung_up.wait(PATIENCE)

        return run_line(base, person, line, start)

    async def work(person: Mover) -> None:
        hung_up.clear()
        monkeypatch.setattr("callsheet.screen.list_page.run_line", load)
        await person.pilot.press("r")
        await person.until(begun.is_set)
        await person.press("q")
        assert "issues mine" in person.shown()
        assert not hung_up.is_set()
        person.app.end_calls()
        assert hung_up.is_set()

    move(suite, DEMO, work)


def test_a_change_while_a_list_loads_is_shown(suite: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, changed = Event(), Event()

    def load(*given: Any) -> CommandAnswer:
        answer = run_line(*given)
        if not begun.is_set():
            begun.set()
            assert changed.wait(PATIENCE)
        return answer

    async def work(person: Mover) -> None:
        monkeypatch.setattr("callsheet.screen.list_page.run_line", load)
        await person.pilot.press("r")
        await person.until(begun.is_set)
        try:
            person.app.run_command(CommandLine(("issues", "edit", "DEMO-10", "--summary", "Changed meanwhile")))
            await person.until(lambda: "Changed meanwhile" in person.shown())
        finally:
            changed.set()
        await person.settle()
        assert "Changed meanwhile" in person.shown()

    move(suite, ["issues", "list", "--jql", "key = DEMO-10"], work)


def test_things_with_other_fields_stand_under_the_columns_of_the_first_page(suite: Context) -> None:
    def page_of(*names: str) -> Table:
        columns = [Column(name, lambda item, name=name: f"{name} of {item['id']}") for name in names]
        return Table(names, [row_of({"id": names[0]}, columns, "id", FormatContext())])

    async def work(person: Mover) -> None:
        joined = page_of("ID", "NAME", "SIZE").joined_to(page_of("SIZE", "ID")).joined_to(page_of("COLOR"))
        await person.app.push_screen(ListPage(joined, title="things"))
        await person.settle()
        assert [list(row.cells) for row in joined.rows[1:]] == [["ID of SIZE", "", "SIZE of SIZE"], ["", "", ""]]
        assert "SIZE of SIZE" in person.shown()

    move(suite, [], work)


@pytest.mark.parametrize("text", [EVERYTHING, "[red]evil[/red]", "[@click=app.quit]evil[/]"])
def test_what_a_site_says_is_text(suite: Context, text: str) -> None:
    """It moves no cursor, has no style of its own, and is no key."""
    sent = text.encode("utf-8", "replace").decode().replace("\0", "")
    environ = dict(suite.environ)
    values = {"project": "DEMO", "type": "Task", "summary": f"safe {sent}".replace("\n", " "), "description": sent}
    run_literally("suite", ["issues", "new"], values, environ=environ)

    async def work(person: Mover) -> None:
        await person.press("enter")
        found = person.shown()
        assert "safe" in found
        assert acts(found) == []
        if text != EVERYTHING:
            assert text.partition("]")[0] in found  # markup stands as it was written
        for segment in person.segments():
            assert not (segment.style and segment.style.link)
            assert not (segment.style and segment.style.meta and "@click" in segment.style.meta)

    move(suite, ["issues", "list", "--jql", "summary ~ safe ORDER BY created DESC"], work, size=(140, 40))


def test_texts_of_questions_messages_and_pages_hold_nothing_that_acts() -> None:
    assert acts(plain_text(EVERYTHING).plain) == []
    assert acts(plain_line(EVERYTHING)) == []
    assert acts(styled_text(EVERYTHING).plain) == []
    assert not any(span.style for span in plain_text("[red]evil[/red]").spans)


@pytest.mark.slow
def test_ten_thousand_rows_are_drawn_and_filtered_by_what_is_on_the_screen(suite: Context) -> None:
    """A key costs a few milliseconds of the processor, however many rows there are."""
    columns = [Column("ID", lambda item: item["id"]), Column("NAME", lambda item: item["name"])]
    items = [{"id": f"ROW-{number}", "name": f"the name of number {number}"} for number in range(10_000)]
    rows = [row_of(item, columns, "id", FormatContext()) for item in items]

    async def work(person: Mover) -> None:
        page = ListPage(Table(("ID", "NAME"), rows), title="many")
        await person.app.push_screen(page)
        await person.press("G")
        assert "ROW-9999" in person.shown()
        before = process_time()
        for _ in range(20):
            await person.pilot.press("k")
        await person.settle()
        assert "ROW-9979" in person.shown()
        assert (process_time() - before) / 20 < 0.1
        await person.press("slash")
        await person.type("number 4242")
        assert "ROW-4242" in person.shown()
        assert len(page.rows.shown) == 1

    move(suite, [], work)


@pytest.mark.slow
def test_the_first_screen_is_there_in_a_third_of_a_second_of_the_processor(suite: Context) -> None:
    code = """
import sys, time
from callsheet.commands.context import Context
context = Context("suite")
context.catalog
class Ready(BaseException): pass
from callsheet.screen.app import ProgramScreen
class Timed(ProgramScreen):
    def on_ready(self): print(time.process_time()); self.exit()
Timed(context).run(headless=True)
"""
    python = [sys.executable, "-c", code]
    environ = {**os.environ, **suite.environ}
    assert suite.catalog is not None  # compiled
    ran = [subprocess.run(python, env=environ, check=True, capture_output=True, text=True) for _ in range(3)]
    assert min(float(each.stdout.split()[-1]) for each in ran) < 1.5


def test_in_a_pipe_it_says_what_prints_text(suite: Context) -> None:
    environ = {**os.environ, **suite.environ}
    ran = subprocess.run(
        [sys.executable, "-m", "callsheet", "suite", "ui", "issues", "list"],
        env=environ,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "error: ui needs a terminal, not a pipe or a file\nhint: `suite issues list` prints text\n"


def test_without_the_extra_it_says_how_to_install_it(suite: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setattr("callsheet.screen.start.is_terminal", lambda stream: True)
    with pytest.raises(UsageError, match="needs the extra `ui`") as caught:
        show_screen(suite, {"command": None, "every": 0, "no-mouse": False})
    assert caught.value.hint == how_to_add(extra="ui")
