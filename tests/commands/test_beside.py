"""What may go along with a text: images and pages of its folder, whatever the text asks for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.commands.steps.parameter_scope import FilesBeside
from callsheet.richtext.markdown.addresses import NotBesideError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")


@pytest.fixture
def folder(tmp_path: Path) -> FilesBeside:
    """A project with docs/page.md in mind: `base` is docs, and `root` the project."""
    for name in ("outside/secret.png", "project/top.png", "project/docs/a b.png", "project/docs/img/a b.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (tmp_path / "project/docs/dir.png").mkdir()
    (tmp_path / "project/docs/secret.txt").write_text("secret", encoding="utf-8")
    root = os.path.realpath(tmp_path / "project")
    return FilesBeside(os.path.join(root, "docs"), root)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("a%20b.png", "a%20b.png"),
        ("./a b.png", "a%20b.png"),
        ("a%20b.png?raw=true", "a%20b.png"),
        ("../top.png#x", "top.png"),
        ("img/../img/a%20b.png", "a%20b.png"),
    ],
)
def test_an_image_in_the_folder_is_found(folder: FilesBeside, url: str, address: str) -> None:
    assert folder.image(url, "storage") == address
    assert [image["name"] for image in folder.met_images()] == [address.replace("%20", " ")]


def test_images_of_one_name_get_different_ones(folder: FilesBeside) -> None:
    assert folder.image("a%20b.png", "wiki") == "a%20b.png"
    assert folder.image("img/a%20b.png", "wiki") == "docs-img-a%20b.png"
    assert folder.image("a%20b.png", "wiki") == "a%20b.png"
    assert len({image["hash"] for image in folder.met_images()}) == 2


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("gone.png", "does not exist"),
        ("dir.png", "is a directory"),
        ("secret.txt", "is not an image by its name"),
        ("../../outside/secret.png", "is outside"),
        ("%2e%2e/%2e%2e/outside/secret.png", "is outside"),
        ("/etc/hostname.png", "is outside"),
        ("%2fetc/hostname.png", "is outside"),
        ("..\\..\\outside\\secret.png", "is outside"),
        ("\\\\host\\share\\x.png", "is outside"),
        ("a%00.png", "is outside"),
        ("x" * 5000 + ".png", "does not exist"),
    ],
)
def test_what_is_no_image_of_the_folder_does_not_go_along(folder: FilesBeside, url: str, why: str) -> None:
    with pytest.raises(NotBesideError, match=why):
        folder.image(url, "storage")
    assert folder.met_images() == []


@POSIX
@pytest.mark.parametrize(
    ("name", "why"),
    [("link.png", "is outside"), ("through/secret.png", "is outside"), ("pipe.png", "is not a regular file")],
)
def test_links_out_of_the_folder_and_devices_do_not_go_along(folder: FilesBeside, name: str, why: str) -> None:
    outside = os.path.join(os.path.dirname(folder.root), "outside")
    os.symlink(os.path.join(outside, "secret.png"), os.path.join(folder.base, "link.png"))
    os.symlink(outside, os.path.join(folder.base, "through"))
    os.mkfifo(os.path.join(folder.base, "pipe.png"))
    with pytest.raises(NotBesideError, match=why):
        folder.image(name, "storage")


@POSIX
def test_a_link_that_stays_in_the_folder_is_what_it_leads_to(folder: FilesBeside) -> None:
    os.symlink("a b.png", os.path.join(folder.base, "link.png"))
    assert folder.image("link.png", "storage") == "link.png"


@settings(max_examples=200)
@given(st.lists(st.sampled_from(["..", ".", "", "img", "%2e", "/", "\\", "~", "a b.png", "C:", "\0", "é"]), max_size=8))
def test_no_address_leads_out_of_the_folder(folder: FilesBeside, parts: list[str]) -> None:
    try:
        folder.image("/".join(parts) + "/../../outside/secret.png", "storage")
        folder.page("/".join(parts) + "/x.md")
    except NotBesideError:
        pass
    for image in folder.met_images():
        assert os.path.realpath(image["path"]).startswith(folder.root + os.sep)
        assert "secret" not in Path(image["path"]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "why"),
    [("# Title\n", "no title"), ("---\ntitle: [a]\n---\n", "no title"), ("---\ntitle: 5\n---\n", "no title")],
)
def test_a_text_without_a_title_is_no_page(folder: FilesBeside, words: str, why: str) -> None:
    Path(folder.base, "steps.md").write_text(words, encoding="utf-8")
    with pytest.raises(NotBesideError, match=why):
        folder.page("steps.md")


def test_a_text_with_a_title_is_the_page_of_that_title(folder: FilesBeside) -> None:
    Path(folder.base, "steps.md").write_text('\ufeff---\ntitle: "Steps: all"\n---\n', encoding="utf-8")
    assert folder.page("steps.md#a%20b") == ("Steps: all", "a b")
