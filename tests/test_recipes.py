"""Every recipe works as it is written: its definitions are taken, and its command prints what the page shows."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

from callsheet.cli.main import run
from support.places import ROOT
from support.walkthrough import agrees, commands

pytestmark = pytest.mark.once

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial-own-program.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RECIPES = {
    title: dict(BLOCK.findall(text)) for title, _, text in (part.partition("\n") for part in PAGE.split("\n## ")[1:])
}


def called(environ: dict[str, str], program: str, *words: str) -> str:
    """What a command prints, as a person sees it."""
    printed = io.StringIO()
    run(program, words, environ=environ, stdin=io.StringIO(), stdout=printed, stderr=printed)
    return printed.getvalue()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The program of the tutorial, at a site that nobody asks."""
    home = tmp_path_factory.mktemp("home")
    document = next(text for language, text in BLOCK.findall(TUTORIAL) if language == "yaml")
    (home / "openapi.yaml").write_text(document, encoding="utf-8")
    environ = {"CALLSHEET_HOME": str(home), "HOME": str(home)}
    called(environ, "callsheet", "new", "shop", "--from", str(home / "openapi.yaml"), "--no-launcher", "--quiet")
    return {**environ, "SHOP_BASE_URL": "http://127.0.0.1", "SHOP_TOKEN": "of-the-shop"}


def test_there_are_eleven() -> None:
    assert len(RECIPES) == 11
    assert all({"toml", "console"} == {*blocks} for blocks in RECIPES.values())


@pytest.mark.slow
@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_does_what_the_page_shows(title: str, shop: dict[str, str]) -> None:
    path = Path(shop["CALLSHEET_HOME"]) / "definitions" / "shop" / "recipe.toml"
    steps = list(commands(RECIPES[title]["console"]))
    assert steps
    without = [called(shop, *shlex.split(step.command)) for step in steps]
    path.write_text(RECIPES[title]["toml"], encoding="utf-8")
    try:
        for step, before in zip(steps, without, strict=True):
            printed = called(shop, *shlex.split(step.command))
            assert step.expected
            assert agrees(printed, step.expected), printed
            assert not agrees(before, step.expected), "it does the same without the recipe"
    finally:
        path.unlink()
