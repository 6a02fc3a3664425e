"""Running tests in a copy of the project, with a changed module and without one."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import venv
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from environment import ROOT
from mutants import Mutant, Scope, mutated, scopes

COPIED = (
    "engine", "definitions", "tests", "docs", "scripts", "pyproject.toml", "README.md", "CONTRIBUTING.md",
    "SECURITY.md", "profiles.example.toml",
)  # fmt: skip
FEW = 5  # tests are tried at least
FIRST = 40  # tests that reach a line are tried in this number before the others
SLOW = 0.5  # seconds; a test that takes longer may fail by itself, so it must fail twice
MEMORY = 6 * 2**30
# Tells coverage, and processes that tests start, which test is running; keeps how long each took and which failed.
PLUGIN = """
import json, pathlib, coverage
times, failed = {}, set()
home = pathlib.Path(__file__).parent
def pytest_runtest_protocol(item, nextitem):
    coverage.Coverage.current().switch_context(item.nodeid)
    (home / "running-test").write_text(item.nodeid)
def pytest_runtest_logreport(report):
    times[report.nodeid] = times.get(report.nodeid, 0) + report.duration
    if report.failed:
        failed.add(report.nodeid)
def pytest_unconfigure(config):
    (home / "running-test").unlink(missing_ok=True)
    (home / "times.json").write_text(json.dumps([times, sorted(failed)]))
"""
# Ends a run, and names the test, where one takes much longer than it did without a mutant: a loop became endless.
WATCH = """
import json, os, pathlib, signal, threading, time
home = pathlib.Path(__file__).parent
times = json.loads((home / "known-times.json").read_text())
now = {"test": "", "end": float("inf")}
def watch():
    while True:
        time.sleep(0.5)
        if time.monotonic() > now["end"]:
            (home / "overdue").write_text(now["test"])
            os.killpg(0, signal.SIGKILL)
def pytest_runtest_protocol(item, nextitem):
    now.update(test=item.nodeid, end=time.monotonic() + 15 + 5 * times.get(item.nodeid, 0.0))
def pytest_sessionstart(session):
    threading.Thread(target=watch, daemon=True).start()
"""
# In processes that tests start: writes each function at its first call, at once, since such a process may be killed.
# Anew after a fork: the process that others are forked from started before the test.
TRACER = """
import fcntl, os, sys, threading
HOME = {home!r}
ENGINE = os.path.join(HOME, "engine", "callsheet") + os.sep
def start():
    try:
        with open(os.path.join(HOME, "running-test")) as file:
            test = file.read()
    except OSError:
        return
    opened = os.open(os.path.join(HOME, "processes"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    out = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 100)  # low ones are closed where a program is forked
    os.close(opened)
    seen = set()
    def trace(frame, event, argument):
        code = frame.f_code
        if code not in seen:
            seen.add(code)
            if code.co_filename.startswith(ENGINE):
                line = "\\t".join([test, code.co_filename[len(ENGINE):], str(code.co_firstlineno)])
                os.write(out, line.encode() + b"\\n")
    threading.settrace(trace)
    sys.settrace(trace)
if "coverage" not in " ".join(sys.orig_argv):
    os.register_at_fork(after_in_child=start)
    start()
"""


@dataclass
class Reach:
    """Which tests reach which line, and how long each takes."""

    times: dict[str, float]
    lines: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    functions: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))  # by first line
    inside: dict[str, list[Scope]] = field(default_factory=dict)  # the functions of a module

    def tests(self, mutant: Mutant) -> list[str]:
        """Quick ones first, of them those named like the module. What an import runs, all reach that reach a module."""
        around = [scope for scope in self.inside[mutant.path] if scope.first <= mutant.line <= scope.last]
        scope = around[-1] if around else Scope(0, 10**6, 10**6)
        found: set[str] = set()
        if mutant.line >= scope.body:  # else it ran in whichever test came first
            found |= self.lines.get((mutant.path, mutant.line), set())
            found |= self.functions.get((mutant.path, scope.first), set())
        found = found or self._between(mutant.path, scope.first, scope.last)
        stem = Path(mutant.path).stem

        def order(test: str) -> tuple[bool, bool, float]:
            return self.times[test] >= SLOW, stem not in test.partition("::")[0], self.times[test]

        return sorted(found, key=order)

    def _between(self, path: str, first: int, last: int) -> set[str]:
        found: set[str] = set()
        for named in self._parts:
            for (name, line), tests in named.items():
                if name == path and first <= line <= last:
                    found |= tests
        return found

    def save(self, path: Path) -> None:
        reached = [[[name, line, sorted(tests)] for (name, line), tests in part.items()] for part in self._parts]
        path.write_text(json.dumps([self.times, *reached]), encoding="utf-8")

    def add(self, path: Path) -> None:
        """What an earlier run saved, of the same engine and further tests."""
        times, *reached = json.loads(path.read_text(encoding="utf-8"))
        self.times.update(times)
        for part, saved in zip(self._parts, reached, strict=True):
            for name, line, tests in saved:
                part[name, line].update(tests)

    @property
    def _parts(self) -> tuple[dict[tuple[str, int], set[str]], ...]:
        return self.lines, self.functions


def bounded() -> None:
    """A mutant that collects for ever must not take the machine's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Copy:
    """The project in a directory of its own, with an environment whose programs are those of this directory."""

    def __init__(self, python: Path, home: Path, tests: list[str], budget: float) -> None:
        self.home, self.tests, self.budget, self.changed = home, tests, budget, 0
        home.mkdir()
        for name in COPIED:
            source = ROOT / name
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, home / name, ignore=leave) if source.is_dir() else shutil.copy(source, home / name)
        self.python = self._environment(python)
        # Compiled modules are kept, which halves the time of a run; `CI` makes the examples of properties the same.
        leave_out = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
        self.environ = {name: text for name, text in os.environ.items() if name not in leave_out} | {"CI": "1"}

    def _environment(self, python: Path) -> Path:
        made = self.home / ".venv"
        venv.create(made, with_pip=False, symlinks=True)
        (packages,) = made.glob("lib/python*/site-packages")
        installed = python.parent.parent / packages.relative_to(made)
        # Imported by a line of the .pth file: the tests have a sitecustomize.py of their own.
        (packages / "mutation_tracer.py").write_text(TRACER.format(home=str(self.home)), encoding="utf-8")
        lines = [str(self.home / "engine"), str(installed), "import mutation_tracer"]
        (packages / "project.pth").write_text("\n".join([*lines, ""]), encoding="utf-8")
        for program in python.parent.iterdir():
            mine = made / "bin" / program.name
            if program.name in {"suite", "lms", "callsheet"}:
                text = program.read_text(encoding="utf-8").replace(str(python.parent), str(mine.parent))
                mine.write_text(text, encoding="utf-8")
                mine.chmod(0o755)
            elif not mine.exists():
                mine.symlink_to(program)
        return made / "bin" / "python"

    def run(self, *words: str, limit: float | None = None) -> int | None:
        """The exit code; None where the tests did not end in time. What they print is in `output`."""
        with (
            (self.home / "output").open("wb") as output,
            subprocess.Popen(
                [str(self.python), "-m", *words], cwd=self.home, env=self.environ, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True, preexec_fn=bounded,  # noqa: PLW1509 - nothing else runs in the new process
            ) as process,
        ):  # fmt: skip
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                return None

    def pytest(self, *words: str, limit: float | None = None) -> int | None:
        (self.home / "overdue").unlink(missing_ok=True)
        return self.run("pytest", "-x", "-q", "-p", "no:cacheprovider", *words, limit=limit)

    def watch(self, reach: Reach) -> None:
        """From now on, tests have little more time than they took."""
        (self.home / "known-times.json").write_text(json.dumps(reach.times), encoding="utf-8")
        (self.home / "watch_times.py").write_text(WATCH, encoding="utf-8")
        self.environ |= {"PYTHONPATH": str(self.home), "PYTEST_ADDOPTS": "-p watch_times"}

    def reach(self) -> Reach:
        import coverage

        (self.home / "reach.py").write_text(PLUGIN, encoding="utf-8")
        self.environ["PYTHONPATH"] = str(self.home)
        engine = self.home / "engine" / "callsheet"
        self.run(
            "coverage", "run", f"--source={engine}", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reach",
            *self.tests,
        )  # fmt: skip
        del self.environ["PYTHONPATH"]
        times, failed = json.loads((self.home / "times.json").read_text(encoding="utf-8"))
        together = not failed or self.pytest(*failed) == 0  # most fail only because they are watched
        for test in () if together else failed:
            if self.pytest(test) != 0:
                print(f"left aside, it fails without a mutant: {test}", flush=True)
                del times[test]
        self.check_names(times)
        reach = Reach(times)
        for path in engine.rglob("*.py"):
            name = path.relative_to(engine).as_posix()
            reach.inside[name] = scopes(path.read_text(encoding="utf-8"))
        data = coverage.CoverageData(str(self.home / ".coverage"))
        data.read()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                reach.lines[Path(file).relative_to(engine).as_posix(), line].update(times.keys() & tests)
        processes = self.home / "processes"
        for call in processes.read_text(encoding="utf-8").splitlines() if processes.exists() else ():
            test, name, first = call.split("\t")
            reach.functions[name, int(first)].update(times.keys() & {test})
        return reach

    def check_names(self, tests: Iterable[str]) -> None:
        """A test that cannot be named, or is gone, would fail with every mutant."""
        if self.pytest("--collect-only", *tests) != 0:
            raise SystemExit("tests cannot be named one by one: " + (self.home / "output").read_text(encoding="utf-8"))

    def _rounds(self, tests: list[str], reach: Reach) -> Iterator[tuple[list[str], float]]:
        """What is run one after another, and how long each may take: a mutant that makes a loop endless dies too."""
        spent = list(accumulate(reach.times[test] for test in tests))
        last = max(FEW, bisect(spent, self.budget))
        first = min(FIRST, max(FEW, bisect(spent, self.budget / 4)))
        for some in (tests[:first], tests[first:last]):
            if some:
                yield some, 40 + 6 * sum(reach.times[test] for test in some)

    def killer(self, mutant: Mutant, reach: Reach) -> str | None:
        """The test that the mutant fails; None where it survives all that reach it."""
        path = self.home / "engine" / "callsheet" / mutant.path
        source = path.read_text(encoding="utf-8")
        self._put(path, mutated(source, mutant))
        try:
            for some, limit in self._rounds(reach.tests(mutant), reach):
                found = self._failing(some, limit, reach)
                if found:
                    return found
            return None
        finally:
            self._put(path, source)

    def _put(self, path: Path, source: str) -> None:
        """Each with a time of its own: by time and size Python knows whether a compiled module is still true."""
        path.write_text(source, encoding="utf-8")
        self.changed += 1
        os.utime(path, (10**9 + self.changed, 10**9 + self.changed))

    def _failing(self, tests: list[str], limit: float, reach: Reach) -> str | None:
        while tests:
            code = self.pytest(*tests, limit=limit)
            if code == 0:
                return None
            output = (self.home / "output").read_text(encoding="utf-8", errors="replace")
            named = [test for test in tests if f"\nFAILED {test}" in output or f"\nERROR {test}" in output]
            overdue = self.home / "overdue"
            test = overdue.read_text(encoding="utf-8") if overdue.exists() else max(named, key=len, default="")
            slow = overdue.exists() or reach.times.get(test, 0.0) >= SLOW
            if code is None or not test or not slow or self.pytest(test, limit=limit) != 0:
                return test or ("endless" if code is None else "not even started")
            tests = tests[tests.index(test) + 1 :]
        return None
