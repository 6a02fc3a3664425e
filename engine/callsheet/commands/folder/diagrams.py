"""Diagrams made into pictures by programs that the person's own settings name.

A directory from elsewhere cannot name a program, only the language of a block. A program gets the code as a file and
writes another; no shell is between. What it made is kept by the hash of code and command, so it runs once.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import ending_text
from ...files import make_private_directory
from ...paths import cache_directory
from .local_page import Diagram, DiagramProgram, FolderProblem, PageFile

if TYPE_CHECKING:
    from ...sites.profiles.validate import Profiles


USUAL_TIME = 60.0  # seconds for one picture
MOST_WORDS = 300  # of what a program says of its failure


def diagram_programs(profiles: Profiles) -> dict[str, DiagramProgram]:
    """Language of code → the program that the person's settings name for it."""
    return {
        language: DiagramProgram(tuple(said["run"]), said.get("format", "png"), said.get("timeout", USUAL_TIME))
        for language, said in profiles.get("render", {}).items()
    }


def pictures_directory(environ: Mapping[str, str]) -> str:
    """Where pictures are kept once they are made."""
    return os.path.join(cache_directory(environ), "pictures")


def render_pictures(
    files: Iterable[tuple[str, PageFile]], environ: Mapping[str, str], *, hidden: Sequence[str]
) -> list[FolderProblem]:
    """Makes the pictures that are not there yet, of pairs of a page's path and a file; what failed, with its place.

    A program gets no variable of `environ` that begins with one of `hidden`: those may be credentials. Afterwards
    `PageFile.path` of each that did not fail is a file.
    """
    problems = []
    variables = {name: value for name, value in environ.items() if not name.startswith(tuple(hidden))}
    failed: dict[str, str] = {}
    for page, file in files:
        if file.diagram is None or os.path.isfile(file.path):
            continue
        if file.path not in failed:
            failed[file.path] = _render_diagram(file.diagram, file.path, variables)
        if failed[file.path]:
            words = f"no picture of this {file.diagram.language}: {failed[file.path]}"
            problems.append(FolderProblem(page, file.diagram.line, words, stops=True))
    return problems


def _render_diagram(diagram: Diagram, path: str, environ: Mapping[str, str]) -> str:
    """Why there is no picture; empty where there is one."""
    make_private_directory(os.path.dirname(path))
    program = diagram.program
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as directory:
        given = os.path.join(directory, "input.txt")
        made = os.path.join(directory, f"output.{program.format}")
        with open(given, "w", encoding="utf-8", newline="\n") as file:
            file.write(diagram.code)
        places = {"{input}": given, "{output}": made}
        command = [_fill_word(word, places) for word in program.run]
        try:
            done = subprocess.run(
                command,
                cwd=directory,  # a file of the page's directory must not be taken for one of the program's own
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=program.timeout,
                check=False,
            )
        except FileNotFoundError:
            return f"{program.run[0]} is not installed"
        except subprocess.TimeoutExpired:
            return f"{program.run[0]} took more than {program.timeout:g} s"
        except OSError as error:
            return f"{program.run[0]}: {(error.strerror or str(error)).lower()}"
        if done.returncode:
            said = " ".join(done.stdout.decode("utf-8", "replace").split())[-MOST_WORDS:]
            return f"{program.run[0]} failed with {ending_text(done.returncode)}" + (f": {said}" if said else "")
        if not os.path.isfile(made) or not os.path.getsize(made):
            return f"{program.run[0]} wrote nothing to {{output}}"
        os.replace(made, path)
    return ""


def _fill_word(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(name, path)
    return word
