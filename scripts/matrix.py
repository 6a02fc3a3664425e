"""Install the packages as people do, and try them: `python3 scripts/matrix.py [WAY...] [-- PYTEST ARGUMENTS]`.

    pip pipx uv      the wheel by this tool into an empty environment; a few commands of each program
    sdist            the source distribution by pip, likewise
    lowest highest   the wheel with the lowest (highest) version of every dependency that pyproject.toml allows; all
                     tests of the unpacked source distribution, or those that the arguments after `--` name

Without a word, all of them. The two last take as long as the tests; they need the network, the rest is in a cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from environment import ROOT, project, ready

PROJECT = project()
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name != "dev"]
TRIED = {
    "suite": (["version"], ["definitions", "check"], ["op", "describe", "getIssue"]),
    "lms": (["version"], ["definitions", "check"], ["webhook", "events"]),
    "callsheet": (["version"], ["definitions", "check"]),
}


Where = Mapping[str, Path]  # variables of the environment that name folders
NOWHERE: Where = MappingProxyType({})


class Place(NamedTuple):
    """A folder to work in, the Python with the tools, and what was built."""

    folder: Path
    python: Path
    wheel: Path
    sdist: Path

    def run(self, *words: str | Path, cwd: Path | None = None, environ: Where = NOWHERE) -> None:
        """Raises `SystemExit` where the command fails."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SUITE_", "LMS_"))}
        more = {name: str(value) for name, value in environ.items()}
        where = {"CALLSHEET_HOME": str(self.folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(words, cwd=cwd or self.folder, env={**kept, **where, **more}, check=False)
        if done.returncode != 0:
            raise SystemExit(f"exit code {done.returncode}: {' '.join(map(str, words))}")

    def uv(self, *words: str | Path, environ: Where = NOWHERE) -> None:
        self.run(self.python, "-m", "uv", *words, environ=environ)


def binary(folder: Path, name: str) -> Path:
    return folder / ("Scripts" if os.name == "nt" else "bin") / (f"{name}.exe" if os.name == "nt" else name)


def build(folder: Path, python: Path) -> Place:
    subprocess.run([python, ROOT / "scripts" / "share.py"], check=True, stdout=sys.stderr)
    subprocess.run(
        [python, "-m", "build", "--installer", "uv", "--outdir", folder, ROOT], check=True, stdout=sys.stderr
    )
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Place(folder, python, wheel, sdist)


def try_programs(place: Place, programs: Path) -> None:
    for program, commands in TRIED.items():
        for words in commands:
            place.run(programs / (f"{program}.exe" if os.name == "nt" else program), *words)


def by_pip(place: Place, package: Path) -> None:
    home = place.folder / "venv"
    place.run(sys.executable, "-m", "venv", home)
    place.run(binary(home, "python"), "-m", "pip", "install", "--quiet", package)
    try_programs(place, binary(home, "python").parent)


def by_pipx(place: Place) -> None:
    programs = place.folder / "programs"
    where = {"PIPX_HOME": place.folder / "pipx", "PIPX_BIN_DIR": programs, "PIPX_MAN_DIR": place.folder / "man"}
    place.uv("tool", "run", "pipx", "install", place.wheel, environ=where)
    try_programs(place, programs)
    if os.name != "nt" and not (place.folder / "man" / "man1" / "suite.1").is_file():
        raise SystemExit("pipx found no manual pages")


def by_uv(place: Place) -> None:
    programs = place.folder / "programs"
    where = {"UV_TOOL_DIR": place.folder / "tools", "UV_TOOL_BIN_DIR": programs}
    place.uv("tool", "install", place.wheel, environ=where)
    try_programs(place, programs)


def all_tests(resolution: str, arguments: list[str], place: Place) -> None:
    """The versions are chosen for the programs alone; what the tools of the tests would rather have does not count."""
    home, pins = place.folder / "venv", place.folder / "pins.txt"
    python = binary(home, "python")
    extras = [word for name in EXTRAS for word in ("--extra", name)]
    place.uv("venv", "--quiet", "--python", sys.executable, home)
    chosen = ["--resolution", resolution, "--python", str(python), "--quiet", "--output-file", str(pins)]
    place.uv("pip", "compile", ROOT / "pyproject.toml", *extras, *chosen)
    install = ("pip", "install", "--quiet", "--python", python)
    place.uv(*install, "--override", pins, "-r", pins, *PROJECT["optional-dependencies"]["dev"])
    place.uv(*install, "--no-deps", place.wheel)
    with tarfile.open(place.sdist) as archive:
        archive.extractall(place.folder, filter="data")
    (source,) = (path for path in place.folder.glob("callsheet-*") if path.is_dir())
    place.run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(arguments or ["-n", "2"]), cwd=source)


def main(words: list[str], arguments: list[str]) -> None:
    ways: dict[str, Callable[[Place], None]] = {
        "pip": lambda place: by_pip(place, place.wheel),
        "sdist": lambda place: by_pip(place, place.sdist),
        "pipx": by_pipx,
        "uv": by_uv,
        "lowest": partial(all_tests, "lowest-direct", arguments),
        "highest": partial(all_tests, "highest", arguments),
    }
    if wrong := [word for word in words if word not in ways]:
        raise SystemExit(f"not a way: {', '.join(wrong)}\n\n{__doc__}")
    python = ready("dev")
    for name in words or ways:
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            ways[name](build(Path(folder), python))


if __name__ == "__main__":
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    main(sys.argv[1:cut], sys.argv[cut + 1 :])
