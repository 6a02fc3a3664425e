"""The demonstration: its data against the programs, how its command lines are run, and what it says when it cannot."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from callsheet.cli.main import run
from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import demo
import demonstration
import tour
from tour_processes import INTERRUPTS, Ended, Place, piped, stages


def in_this_process(words: Sequence[str], place: Place, show: Callable[[str], None]) -> Ended:
    """Runs a line as a shell would, without the start of an interpreter for each of its programs."""
    commands, target = stages(words)
    code, text, errors = 0, "", io.StringIO()
    for program, *rest in commands:
        out = io.StringIO()
        code = run(program, rest, environ=place.environ, stdin=io.StringIO(text), stdout=out, stderr=errors)
        text = out.getvalue()
    if target:
        (place.folder / target).write_text(text, encoding="utf-8")
        text = ""
    show(text + errors.getvalue())
    return Ended(code, text + errors.getvalue())


@pytest.fixture
def environ(tmp_path: Path, cache: Path) -> dict[str, str]:
    around = tour.surroundings({"PATH": "/bin"}, tmp_path / "home", Path(sys.executable).parent)
    return {**around, "CALLSHEET_CACHE": str(cache)}


@pytest.fixture
def whole(environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tour.Tour]:
    monkeypatch.chdir(tmp_path)
    found = tour.Tour(tour.read(), environ, tmp_path, in_this_process)
    yield found
    for left in (tmp_path / "home").rglob("sandbox.json"):
        program = "shop" if left.parent.name == "shop" else "suite"
        said = io.StringIO()
        run(program, ["sandbox", "stop"], environ=environ, stdin=io.StringIO(), stdout=said, stderr=said)


@pytest.mark.slow
def test_every_step_of_the_client_prints_what_it_should(whole: tour.Tour) -> None:
    """The listener and the agent, each a process, are left to the demonstration itself, which CI runs."""
    parts = [part for part in whole.script.parts if part.picture not in {"webhooks", "agents"}]
    steps = [step for part in parts for step in part.steps]
    assert len(steps) > 15
    for step in steps:
        whole.written(step)
        if step.run:
            whole.do(step, lambda _: None)


def one_step(environ: dict[str, str], folder: Path, **keys: Any) -> tour.Tour:
    return tour.Tour(tour.Script([tour.Part("One", [tour.Step(**keys)])], {}), environ, folder)


def printing(text: str, code: int = 0) -> str:
    return f"""{Path(sys.executable).name} -c 'import sys; print("{text}"); sys.exit({code})'"""


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"run": printing("one", 3)}, "exit code 3 instead of 0"),
        ({"run": printing("one"), "code": 4}, "exit code 0 instead of 4"),
        ({"run": printing("one"), "shows": ["two"]}, "'two' is missing in what it printed"),
        ({"run": printing("one"), "keep": {"number": r"(\d+)"}}, "no number in what it printed"),
        ({"run": printing("one"), "ready": "two"}, "it did not say 'two'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_step_that_goes_wrong_says_how(
    keys: dict[str, Any], problem: str, environ: dict[str, str], tmp_path: Path
) -> None:
    found = one_step(environ, tmp_path, **keys)
    with pytest.raises(tour.WentWrong) as raised:
        found.do(found.script.parts[0].steps[0], lambda _: None)
    found.close()
    assert problem in str(raised.value)


def test_an_unknown_key_of_a_step_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tour.toml").write_text('[[part]]\ntitle = "One"\n[[part.step]]\nrnu = "suite"\n', encoding="utf-8")
    with pytest.raises(tour.WentWrong, match="unknown key 'rnu'"):
        tour.read(tmp_path / "tour.toml")


def test_a_text_to_change_that_is_not_there_is_told(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("one one", encoding="utf-8")
    found = one_step(environ, tmp_path, change={"name": "page.md", "old": "one", "new": "two"})
    with pytest.raises(tour.WentWrong, match="'one' was expected once"):
        found.written(found.script.parts[0].steps[0])


def test_a_line_is_run_as_a_shell_runs_it(environ: dict[str, str], tmp_path: Path) -> None:
    assert stages(["a", "b", "|", "c", ">", "d"]) == ([["a", "b"], ["c"]], "d")
    upper = "import sys; print(sys.stdin.read().upper(), end='')"
    python = Path(sys.executable).name
    place, shown = Place(environ, tmp_path), []
    done = piped([python, "-c", "print('one')", "|", python, "-c", upper], place, shown.append)
    assert done == Ended(0, "ONE\n")
    assert shown == ["ONE\n"]
    assert piped([python, "-c", "print('one')", ">", "file"], place, shown.append) == Ended(0, "")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "one\n"


def test_nothing_of_a_persons_own_settings_reaches_a_step(tmp_path: Path) -> None:
    own = {"SUITE_TOKEN": "t", "LMS_SECRET": "s", "CALLSHEET_CACHE": "/c", "HTTP_PROXY": "http://proxy", "PATH": "/bin"}
    found = tour.surroundings(own, tmp_path, tmp_path / "bin")
    assert found.keys() & own.keys() == {"HTTP_PROXY", "PATH"}
    assert found["CALLSHEET_HOME"] == str(tmp_path)
    assert "127.0.0.1" in found["NO_PROXY"]


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell reads them")
def test_a_shell_takes_what_is_exported(tmp_path: Path) -> None:
    home = tmp_path / "a 'quoted' $HOME"
    home.mkdir()
    environ = tour.surroundings({}, home, tmp_path / "b in")
    said = demonstration.leave(home, environ, tmp_path / "b in")
    line = next(line.strip() for line in said.splitlines() if line.startswith("  . "))
    script = f'{line}; printf "%s\n" "$CALLSHEET_HOME" "$SUITE_SITE" "${{PATH%:*}}"'
    done = subprocess.run(["/bin/sh", "-c", script], env={"PATH": "/bin"}, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(home), "sandbox", f"{home}/bin:{tmp_path / 'b in'}"]


def test_an_old_python_is_told_and_a_newer_one_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[list[str]] = []
    codes = {"/launchers/python3.13": 127, "/bin/python3.12": 0}

    def call(words: list[str], **_: Any) -> int:
        called.append(words)
        return codes[words[0]] if "-c" in words else 7

    monkeypatch.setattr(sys, "argv", ["demo.py", "--fast"])
    monkeypatch.setattr(demo.subprocess, "call", call)
    monkeypatch.setattr(demo.shutil, "which", lambda name: None)
    assert demo.start((3, 9)) == 1
    assert "Python 3.11 or later is needed" in capsys.readouterr().err
    found = {path.rpartition("/")[2]: path for path in codes}
    monkeypatch.setattr(demo.shutil, "which", found.get)
    monkeypatch.setenv(demo.HANDED_OVER, "")
    monkeypatch.delenv(demo.HANDED_OVER)
    assert demo.start((3, 9)) == 7
    assert called[-1] == ["/bin/python3.12", "demo.py", "--fast"]
    assert demo.start((3, 9)) == 1, "one that was handed over and is too old all the same does not go on looking"


def test_a_signal_waits_while_a_process_starts() -> None:
    came = []

    def start() -> None:
        with INTERRUPTS.held():
            INTERRUPTS()
            came.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert came == ["started"]


def test_waiting_for_enter_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demonstration.options(["--step"])
    assert "--step needs a terminal" in capsys.readouterr().err
    assert demonstration.options([]).fast
