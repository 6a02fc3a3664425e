"""Help that was shown before is shown again only while it is what would be shown anew."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from callsheet.cli import kept_help
from callsheet.cli.kept_help import show_kept_help
from callsheet.cli.main import run


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped definitions, compiled once: without a person's own, they are the same in each home."""
    home = tmp_path_factory.mktemp("compiled")
    out = io.StringIO()
    run("suite", ["--version"], environ={"CALLSHEET_HOME": str(home)}, stdin=out, stdout=out, stderr=out)
    return home / "cache"


@pytest.fixture
def home(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose programs run as processes do: in this process's own environment."""
    (tmp_path / "cache").mkdir(mode=0o700)
    for path in compiled.glob("*.sqlite"):
        shutil.copy(path, tmp_path / "cache")
    for name in [name for name in os.environ if name.startswith(("SUITE_", "CALLSHEET_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CALLSHEET_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "70")
    return tmp_path


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str | None]:
    """What is kept of a page, or None."""

    def show(*words: str) -> str | None:
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        printed = sys.stdout
        return printed.getvalue() if show_kept_help("suite", words) else None  # type: ignore[attr-defined]

    return show


def help_of(*words: str) -> str:
    out = io.StringIO()
    with suppress(SystemExit):
        run("suite", [*words, "--help"], environ=None, stdin=io.StringIO(), stdout=out, stderr=io.StringIO())
    return out.getvalue()


PAGES = [(), ("issues",), ("issues", "list"), ("op", "call")]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_a_page_is_shown_again_as_it_was(words: tuple[str, ...], home: Path, shown: Callable[..., str | None]) -> None:
    assert shown(*words) is None
    assert shown(*words) is None, "looking for a page keeps none"
    made = help_of(*words)
    assert made.startswith("Usage: suite")
    assert shown(*words) == made


def own(home: Path, text: str) -> None:
    (home / "definitions" / "suite").mkdir(parents=True, exist_ok=True)
    (home / "definitions" / "suite" / "own.toml").write_text(text, encoding="utf-8")


CHANGES: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "a definition that is new": lambda home, patch: own(home, '[group.plays]\nhelp = "Plays"\n'),
    "a directory of definitions": lambda home, patch: patch.setenv("SUITE_DEFINITIONS", str(home / "cache")),
    "another width": lambda home, patch: patch.setenv("COLUMNS", "60"),
    "another version": lambda home, patch: patch.setattr("callsheet.catalog.fingerprint.__version__", "0.0.0"),
    "another layout": lambda home, patch: patch.setattr(kept_help, "_LAID_OUT_BY", ("main.py",)),
    "a page cut off": lambda home, patch: [
        path.write_bytes(path.read_bytes()[:-1]) for path in (home / "cache").glob("*.help")
    ],
    "a page of another": lambda home, patch: [
        path.write_bytes(path.read_bytes().replace(b"suite issues", b"suite boards", 1))
        for path in (home / "cache").glob("*.help")
    ],
    "a page that is empty": lambda home, patch: [path.write_bytes(b"") for path in (home / "cache").glob("*.help")],
    "a page that is no text": lambda home, patch: [
        path.write_bytes(b"\xff" + path.read_bytes()) for path in (home / "cache").glob("*.help")
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_a_page_makes_it_anew(
    change: str, home: Path, shown: Callable[..., str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = help_of("issues")
    assert shown("issues") == made
    CHANGES[change](home, monkeypatch)
    assert shown("issues") is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_in_the_place_of_a_page_is_not_waited_for(home: Path, shown: Callable[..., str | None]) -> None:
    made = help_of("issues")
    (page,) = (home / "cache").glob("*.help")
    page.unlink()
    os.mkfifo(page)
    assert shown("issues") is None
    assert help_of("issues") == made


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps such rights elsewhere")
def test_a_page_that_others_may_have_written_is_not_shown(home: Path, shown: Callable[..., str | None]) -> None:
    help_of("issues")
    (page,) = (home / "cache").glob("*.help")
    page.chmod(0o666)
    assert shown("issues") is None


@pytest.mark.parametrize(
    "words", [("mine",), ("../issues",), ("issues.list",), ("issues", "/etc/passwd"), ("-q", "issues"), ("Issues",)]
)
def test_only_a_page_of_the_words_themselves_is_kept(
    words: tuple[str, ...], home: Path, shown: Callable[..., str | None]
) -> None:
    """What an alias means is a person's to change."""
    alias = ["alias", "set", "mine", "issues list"]
    assert run("suite", alias, environ=None, stdout=io.StringIO(), stderr=io.StringIO()) == 0
    help_of("issues")
    help_of("issues", "list")
    help_of(*words)
    assert shown(*words) is None


def test_a_file_of_ones_own_is_edited(home: Path, shown: Callable[..., str | None]) -> None:
    own(home, '[group.plays]\nhelp = "Plays"\n')
    assert "Plays" in help_of()
    assert "Plays" in str(shown())
    own(home, '[group.plays]\nhelp = "Games"\n')
    assert shown() is None
    assert "Games" in help_of()


def test_a_page_that_a_warning_goes_with_is_not_kept(home: Path, shown: Callable[..., str | None]) -> None:
    """The warning belongs to each showing of it."""
    own(home, '[command."plays list"]\nhelp = "x"\nsafety = "read"\nsteps = [{ call = "nope" }]\n')
    help_of()
    assert shown() is None


def test_a_run_for_somebody_else_keeps_nothing(home: Path) -> None:
    """A caller's own environment may name other definitions than that of this process."""
    out = io.StringIO()
    run("suite", ["--help"], environ={**os.environ}, stdin=io.StringIO(), stdout=out, stderr=out)
    assert "Usage: suite" in out.getvalue()
    assert [*(home / "cache").glob("*.help")] == []
