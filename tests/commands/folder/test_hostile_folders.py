"""Directories made by others: nothing of them leads out, runs, hangs or is shown raw."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from callsheet.commands.folder.local_page import Folder, FolderSettings
from callsheet.commands.folder.read_folder import read_folder
from callsheet.errors import UsageError


def read(root: Path) -> Folder:
    return read_folder(str(root), FolderSettings())


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
def test_links_do_not_lead_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n", encoding="utf-8")
    (outside / "key.png").write_text("secret", encoding="utf-8")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.md").write_text("# A\n\n![k](key.png) [s](out/secret.md) [t](secret.md)\n", encoding="utf-8")
    (root / "key.png").symlink_to(outside / "key.png")
    (root / "secret.md").symlink_to(outside / "secret.md")
    (root / "out").symlink_to(outside)
    (root / "sub" / "loop").symlink_to(root)
    (root / "inside.md").symlink_to(root / "a.md")
    folder = read(root)
    assert [(page.path, len(page.files), len(page.links)) for page in folder.pages] == [
        ("a.md", 0, 0),
        ("inside.md", 0, 0),
    ]
    said = [str(problem) for problem in folder.problems if problem.path != "inside.md"]
    assert said == [
        "a.md:3: the image to 'key.png' does not work: it does not exist",
        "a.md:3: the link to 'out/secret.md' does not work: it does not exist",
        "a.md:3: the link to 'secret.md' does not work: it does not exist",
        "key.png: is left out: it is a link that leads out of the directory",
        "out: is left out: it is a link that leads out of the directory",
        "secret.md: is left out: it is a link that leads out of the directory",
        "sub/loop: is left out: it is a link to a directory",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / "pipe.png")
    os.mkfifo(tmp_path / "_category_.json")
    (tmp_path / "a.md").write_text("# A\n\n![x](pipe.png)\n", encoding="utf-8")
    folder = read(tmp_path)
    assert [page.path for page in folder.pages] == ["a.md"]
    assert [str(problem) for problem in folder.problems] == [
        "a.md:3: the image to 'pipe.png' does not work: it does not exist"
    ]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="no such names there")
def test_names_that_cannot_be_shown(tmp_path: Path) -> None:
    (tmp_path / "a\n\x1b[31m.md").write_text("# A\n", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_text("# B\n", encoding="utf-8")
    folder = read(tmp_path)
    assert not folder.pages
    assert [str(problem) for problem in folder.problems] == [
        r"'\udcff.md': is left out: its name has characters that cannot be shown",
        r"'a\n\x1b[31m.md': is left out: its name has characters that cannot be shown",
    ]


ADDRESSES = [
    "..%2f..%2fetc/passwd",
    "/etc/passwd",
    "..\\\\..\\\\x.png",
    "%00.png",
    "a/../../../x.md",
    "//host/x.md",
    "%",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_that_would_lead_out(tmp_path: Path, address: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_text(f"# A\n\n![x]({address}) [y]({address})\n", encoding="utf-8")
    (page,) = (page for page in read(tmp_path).pages if page.file)
    assert (page.links, page.files) == ((), ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "[" * 20_000,
        "![" * 10_000 + "](x.md)" * 10_000,
        "<!--" * 5_000 + "\n# A\n",
        "<!-- -->" * 5_000 + "\n# A\n",
        "> " * 5_000 + "[x](x.md)",
        "- " * 5_000 + "[x](x.md)",
        "<a href=" * 5_000,
        "|" * 20_000 + "\n" + "|-" * 10_000 + "\n",
        "[a]: <" * 5_000,
        "---\nx: " + "[" * 2_000 + "\n---\n",
        "---\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 1}]\n" for n in range(20)) + "---\n",
    ],
    ids=range(11),
)
def test_texts_that_would_take_long(tmp_path: Path, words: str) -> None:
    (tmp_path / "a.md").write_text(words, encoding="utf-8")
    assert [page.path for page in read(tmp_path).pages] == ["a.md"]


def test_a_navigation_that_grows(tmp_path: Path) -> None:
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'a.md'}]" for n in range(20)]
    (tmp_path / "mkdocs.yml").write_text("\n".join([*lines, "docs_dir: .", "nav: [x: *a19]"]), encoding="utf-8")
    (tmp_path / "a.md").write_text("# A\n", encoding="utf-8")
    assert [page.title for page in read(tmp_path).pages] == ["A"]


def test_a_file_that_changes_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("# A\n\nfirst\n", encoding="utf-8")
    (page,) = read(tmp_path).pages
    file.write_text("# A\n\nsecond\n", encoding="utf-8")
    with pytest.raises(UsageError, match="changed"):
        page.body  # noqa: B018 -- it is read when it is asked for


def test_text_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("# Ä\n".encode("latin-1"))
    assert [(str(problem), problem.stops) for problem in read(tmp_path).problems] == [
        ("a.md: is not text in UTF-8", True)
    ]
