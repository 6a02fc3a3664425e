"""Every recipe works as it is written: its definitions are taken, and its command prints what the page shows."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path

import pytest

from callsheet.cli.main import run
from support.places import ROOT
from support.walkthrough import agrees, commands

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


# What a recipe adds to what the others print.
ADDED = re.compile(
    r" -H 'X-Client: our team'|status=available&|\?status=available(?=')|, (?:sell|return|copy|ls)(?=[,;])"
)


def shown_by(recipes: Iterable[str], shop: dict[str, str]) -> Iterator[tuple[str, str]]:
    """What each command of some recipes should print, and what it does, without what others of them add."""
    for title in recipes:
        for step in commands(RECIPES[title]["console"]):
            yield ADDED.sub("", step.expected), ADDED.sub("", called(shop, *shlex.split(step.command)))


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [*permutations(RECIPES, 2)])
def test_two_recipes_work_together_whichever_file_comes_first(first: str, second: str, shop: dict[str, str]) -> None:
    place = Path(shop["CALLSHEET_HOME"]) / "definitions" / "shop"
    files = {place / "a.toml": first, place / "b.toml": second}
    for path, title in files.items():
        path.write_text(RECIPES[title]["toml"], encoding="utf-8")
    try:
        assert "no problems" in called(shop, "shop", "definitions", "check")
        for expected, printed in shown_by(files.values(), shop):
            if {first, second} != {"Another name for a command", "Take a command away"}:  # both change one list
                assert agrees(printed, expected), printed
    finally:
        for path in files:
            path.unlink()
