"""Pictures of code, made by programs that the person's settings name."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from callsheet.commands.folder.diagrams import diagram_programs, render_pictures
from callsheet.commands.folder.local_page import (
    DiagramProgram,
    Folder,
    FolderSettings,
    PageFile,
    attachment_reference,
    filled_body,
)
from callsheet.commands.folder.read_folder import read_folder
from callsheet.errors import UsageError
from callsheet.sites.profiles.validate import check_text

COPY = "import shutil, sys; open('{log}', 'a').write('x'); shutil.copy(sys.argv[1], sys.argv[2])"
GRAPH = "```mermaid\ngraph; $(touch owned)\n```\n"
PAGE = f"# A\n\nfirst\n\n{GRAPH}\n- item\n  ```mermaid\n  other\n  ```\n\n{GRAPH}\n```python\nx\n```\n"


def settings(tmp_path: Path, *run: str, timeout: float = 60) -> FolderSettings:
    program = DiagramProgram((sys.executable, *run), "png", timeout)
    return FolderSettings(programs={"mermaid": program}, cache=str(tmp_path / "cache"))


def copying(tmp_path: Path) -> FolderSettings:
    return settings(tmp_path, "-c", COPY.replace("{log}", (tmp_path / "log").as_posix()), "{input}", "{output}")


def folder_of(tmp_path: Path, given: FolderSettings, words: str = PAGE) -> Folder:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    (root / "a.md").write_text(words, encoding="utf-8")
    return read_folder(str(root), given)


def pairs(folder: Folder) -> list[tuple[str, PageFile]]:
    return [(page.path, file) for page in folder.pages for file in page.files]


def test_a_block_becomes_a_picture_that_is_made_once(tmp_path: Path) -> None:
    for _ in range(2):
        folder = folder_of(tmp_path, copying(tmp_path))
        assert render_pictures(pairs(folder), os.environ, hidden=()) == []
    files = folder.pages[0].files
    assert [Path(file.path).read_text(encoding="utf-8") for file in files] == ["graph; $(touch owned)\n", "other\n"]
    assert (tmp_path / "log").read_text(encoding="utf-8") == "xx"
    first, second = (file.name for file in files)
    assert filled_body(folder.pages[0], lambda path, _anchor: path, attachment_reference) == (
        f"first\n\n![mermaid]({first})\n\n- item\n  ![mermaid]({second})\n\n![mermaid]({first})\n\n```python\nx\n```\n"
    )
    assert not list(tmp_path.rglob("owned"))


def test_the_hash_of_a_picture_changes_with_the_command_and_not_with_what_is_drawn(tmp_path: Path) -> None:
    one = folder_of(tmp_path, copying(tmp_path))
    render_pictures(pairs(one), os.environ, hidden=())
    again, other = (
        [file.sha256 for file in folder_of(tmp_path, each).pages[0].files]
        for each in (copying(tmp_path), settings(tmp_path, "-c", "pass", "{input}", "{output}"))
    )
    assert again == [file.sha256 for file in one.pages[0].files] != other


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('no such arrow')", "failed with exit code 1: no such arrow"),
        ("import os; os.kill(os.getpid(), 9)", "failed with signal 9"),
        ("pass", "wrote nothing to {output}"),
        ("import time; time.sleep(60)", "took more than 0.5 s"),
    ],
)
def test_a_program_that_fails_is_named_with_the_place(tmp_path: Path, code: str, message: str) -> None:
    limit = 0.5 if "sleep" in code else 60
    folder = folder_of(tmp_path, settings(tmp_path, "-c", code, "{input}", "{output}", timeout=limit))
    problems = [str(problem) for problem in render_pictures(pairs(folder), os.environ, hidden=())]
    wanted = f"no picture of this mermaid: {sys.executable} {message}"
    assert problems == [f"a.md:5: {wanted}", f"a.md:10: {wanted}"]


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    program = DiagramProgram(("no-such-program-here", "{input}", "{output}"), "png", 1)
    folder = folder_of(tmp_path, FolderSettings(programs={"mermaid": program}, cache=str(tmp_path / "cache")))
    assert str(render_pictures(pairs(folder), os.environ, hidden=())[0]) == (
        "a.md:5: no picture of this mermaid: no-such-program-here is not installed"
    )


def test_a_program_sees_neither_credentials_nor_the_directory(tmp_path: Path) -> None:
    code = "import json, os, sys; json.dump([os.getcwd(), os.listdir(), dict(os.environ)], open(sys.argv[1], 'w'))"
    folder = folder_of(tmp_path, settings(tmp_path, "-c", code, "{output}"))
    environ = {**os.environ, "SHOP_TOKEN": "secret", "CALLSHEET_HOME": "here", "RENDERER": "fast"}
    assert render_pictures(pairs(folder), environ, hidden=("SHOP_", "CALLSHEET_")) == []
    where, files, variables = json.loads(Path(folder.pages[0].files[0].path).read_text(encoding="utf-8"))
    assert Path(where).parent == tmp_path / "cache"
    assert files == ["input.txt"] or set(files) == {"input.txt", "output.png"}
    assert variables["RENDERER"] == "fast"
    assert not {"SHOP_TOKEN", "CALLSHEET_HOME"} & variables.keys()


def test_programs_stand_in_the_settings_of_the_person() -> None:
    known = {"deployment": [], "auth": [], "service": []}
    text = '[render.mermaid]\nrun = ["mmdc", "-i", "{input}", "-o", "{output}"]\nformat = "svg"\n'
    assert diagram_programs(check_text(text, "p.toml", known)) == {
        "mermaid": DiagramProgram(("mmdc", "-i", "{input}", "-o", "{output}"), "svg", 60)
    }
    with pytest.raises(UsageError) as caught:
        check_text('[render.mermaid]\nrun = ["mmdc"]\nformt = "svg"\n', "p.toml", known)
    assert list(caught.value.details) == [
        "p.toml:2: render.mermaid.run: {input} and {output} must stand in it, for the files",
        "p.toml:3: render.mermaid.formt: unknown key, did you mean 'format'?",
    ]
