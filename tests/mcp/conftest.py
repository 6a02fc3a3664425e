"""The tools of the shipped definitions, on a small site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callsheet.commands.context import Context
from callsheet.mcp.tool_calls import Toolbox
from callsheet.mcp.tools import ToolSelection
from support.canary import TOKEN
from support.tracker import Tracker

Make = Callable[..., Toolbox]


@pytest.fixture(scope="module")
def running() -> Iterator[Tracker]:
    site = Tracker()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def tracker(running: Tracker) -> Iterator[Tracker]:
    running.requests.clear()
    running.count, running.text, running.before_answer = 3, "Sweep it **twice**", lambda: None
    yield running
    running.nothing_leaked()


@pytest.fixture(scope="module")
def variables(running: Tracker, overlay: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {
        "CALLSHEET_HOME": str(tmp_path_factory.mktemp("agents") / "home"),
        "CALLSHEET_CACHE": str(cache),
        "SUITE_DEFINITIONS": str(overlay),
        "SUITE_BASE_URL": running.url,
        "SUITE_EMAIL": "robin@example.org",
        "SUITE_TOKEN": TOKEN,
    }


@pytest.fixture
def environ(variables: dict[str, str]) -> dict[str, str]:
    return variables


@pytest.fixture(scope="module")
def base(variables: dict[str, str]) -> Iterator[Context]:
    context = Context("suite", variables)
    yield context
    context.close()


@pytest.fixture(scope="module")
def selection(base: Context) -> ToolSelection:
    return ToolSelection(base.catalog)


@pytest.fixture
def make(tracker: Tracker, base: Context, selection: ToolSelection) -> Make:
    def toolbox(
        tools: str | None = None, *, read_only: bool = False, write: str | None = None, budget: int = 16384
    ) -> Toolbox:
        return Toolbox(base, selection.choose_tools(tools, read_only=read_only, write=write), budget=budget)

    return toolbox
