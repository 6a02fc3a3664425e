"""The directory on disk: stale files go, hand-written ones stay."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from callsheet.errors import UsageError
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.openapi.definition_files import MARK, write_files
from support.imports import imported, text_of


def test_importing_again_writes_the_same_and_keeps_corrections(tmp_path: Path) -> None:
    files = imported("petshop").files
    assert write_files(files, str(tmp_path), "petshop") == []
    overlay = tmp_path / "operations" / "petshop.toml"
    overlay.write_text('[operation.getPet]\nreply = "binary"\n', encoding="utf-8")
    assert write_files(imported("petshop").files, str(tmp_path), "petshop") == []
    written = {str(path.relative_to(tmp_path).as_posix()): path.read_text("utf-8") for path in tmp_path.rglob("*.toml")}
    assert written == {**files, "operations/petshop.toml": '[operation.getPet]\nreply = "binary"\n'}
    loaded = load_definitions([Layer(str(tmp_path))])
    assert loaded["operation", "getPet"].table["reply"] == "binary"
    assert loaded["operation", "getPet"].table["http"] == "GET /direct/pets/{petId}"


def test_files_of_tags_that_are_gone_are_removed_and_nothing_else(tmp_path: Path) -> None:
    write_files(imported("petshop").files, str(tmp_path), "petshop")
    directory = tmp_path / "operations" / "petshop"
    (directory / "mine.toml").write_text("[operation.own]\n", encoding="utf-8")
    (directory / "notes.txt").write_text("x", encoding="utf-8")
    renamed = imported("petshop", text_of("petshop").replace("Photos", "Pictures")).files
    assert write_files(renamed, str(tmp_path), "petshop") == [str(directory / "photos.toml")]
    names = {path.name for path in directory.iterdir()}
    assert names == {"mine.toml", "notes.txt", *(path.rpartition("/")[2] for path in renamed)}
    assert "pictures.toml" in names


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text(f"{MARK}\n", encoding="utf-8")
    place = tmp_path / "target" / "operations" / "petshop" / "photos.toml"
    place.parent.mkdir(parents=True)
    place.symlink_to(victim)
    with pytest.raises(UsageError, match=r"photos\.toml is a link"):
        write_files(imported("petshop").files, str(tmp_path / "target"), "petshop")
    assert victim.read_text(encoding="utf-8") == f"{MARK}\n"
    assert os.listdir(place.parent) == ["photos.toml"]


def test_a_file_that_no_import_made_is_not_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "operations" / "petshop" / "photos.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[operation.own]\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"photos\.toml was not made by an import"):
        write_files(imported("petshop").files, str(tmp_path), "petshop")
    assert [path.name for path in own.parent.iterdir()] == ["photos.toml"]
    assert own.read_text(encoding="utf-8") == "[operation.own]\n"


def test_every_file_says_where_it_comes_from() -> None:
    for text in imported("forms").files.values():
        first, second, *_ = text.splitlines()
        assert first == f"{MARK}: importing again replaces this file."
        assert second == "# Corrections belong into ../forms.toml, laid over it."


def test_tags_that_share_a_file_name_share_the_file() -> None:
    text = text_of("forms").replace('"Uploads"', '"trees!"')
    files = imported("forms", text).files
    assert 'tag = "trees!"' in files["operations/forms/trees.toml"]
    assert "operations/forms/uploads.toml" not in files


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_nobody_else_can_change_what_an_import_writes(tmp_path: Path) -> None:
    """Also with a umask that takes nothing away: the next start would refuse to obey such files."""
    before = os.umask(0)
    try:
        write_files(imported("petshop").files, str(tmp_path / "new"), "petshop")
    finally:
        os.umask(before)
    made = [tmp_path / "new", *(tmp_path / "new").rglob("*.toml")]
    assert len(made) > 1
    assert {
        path.name: oct(path.stat().st_mode) for path in (tmp_path / "new").rglob("*") if path.stat().st_mode & 0o022
    } == {}
