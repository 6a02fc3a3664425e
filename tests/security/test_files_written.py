"""What is written: a device, pipe or link is written through, mode and owner stay, nothing unnamed is followed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.errors import CallsheetError, UsageError
from callsheet.language.functions import file_name
from callsheet.output_files import output_file, write_output_file
from support.cases import environment, run_program
from support.server import exchange, reply, serve
from support.waiting import PATIENCE

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and pipes of POSIX")


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"what was longer before")
    path.chmod(mode)
    write_output_file(str(path), b"new")
    assert (path.read_bytes(), rights(path)) == (b"new", mode)
    assert os.listdir(tmp_path) == ["f"]


@posix
def test_a_new_file_has_the_mode_of_new_files(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        write_output_file(str(tmp_path / "f"), b"new")
    finally:
        os.umask(umask)
    assert rights(tmp_path / "f") == 0o640


@posix
def test_a_link_stays_and_leads_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "f").write_bytes(b"old")
    (tmp_path / "link").symlink_to(Path("there") / "f")
    (tmp_path / "dangling").symlink_to(tmp_path / "there" / "g")
    write_output_file(str(tmp_path / "link"), b"new")
    write_output_file(str(tmp_path / "dangling"), b"first")
    assert (tmp_path / "link").is_symlink()
    assert [(tmp_path / "there" / name).read_bytes() for name in "fg"] == [b"new", b"first"]


@posix
def test_both_names_of_a_file_change(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old and longer")
    os.link(tmp_path / "f", tmp_path / "g")
    write_output_file(str(tmp_path / "f"), b"new")
    assert (tmp_path / "g").read_bytes() == b"new"


@posix
def test_a_device_is_written_through() -> None:
    before = os.stat(os.devnull)
    write_output_file(os.devnull, b"nothing")
    after = os.stat(os.devnull)
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


@posix
def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write_output_file(str(path), b"through")
    reader.join(PATIENCE)
    assert got == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@posix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_an_open_file_is_gone_on_with(tmp_path: Path, name: str) -> None:
    program = (
        "import os; from callsheet.output_files import write_output_file; "
        f"os.write(1, b'a'); write_output_file({name!r}, b'b'); os.write(1, b'c')"
    )
    with open(tmp_path / "out", "wb") as out:
        out.write(b"0")
        out.flush()
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"0abc"
    piped = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"abc"


@posix
def test_what_nobody_named_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / "download").symlink_to(tmp_path / "victim")
    with output_file(str(tmp_path / "download"), named=False) as file:
        file.write(b"theirs")
    assert (tmp_path / "victim").read_bytes() == b"mine"
    assert (tmp_path / "download").read_bytes() == b"theirs"
    assert not (tmp_path / "download").is_symlink()


@pytest.mark.parametrize("name", ["", "absent/f", "x" * 300, "a\0b", "a\ud800b", "."])
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        write_output_file(os.path.join(tmp_path, name) if name else str(tmp_path), b"")
    assert os.listdir(tmp_path) == []


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    def fail() -> None:
        with output_file(str(tmp_path / "f")) as file:
            file.write(b"half")
            raise CallsheetError("cut off")

    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(CallsheetError, match="cut off"):
        fail()
    assert (tmp_path / "f").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


@given(st.text())
def test_any_text_makes_a_name_that_stays_in_its_directory(text: str) -> None:
    name = file_name(text)
    assert 0 < len(name.encode()) <= 220
    assert name not in (".", "..")
    assert not set('/\\:*?"<>|\0') & set(name)
    assert not name.startswith((".", "-", "~"))


def test_names_keep_their_ending_and_are_no_devices() -> None:
    assert file_name("ä" * 500 + ".pdf").endswith("ä.pdf")
    assert file_name("x." + "y" * 500) == "x." + "y" * 198
    assert [file_name(name) for name in ("CON", "nul.txt", "com¹", "CONIN$", "aux .c", "-rf", "~", "console")] == [
        "_CON", "_nul.txt", "_com¹", "_CONIN$", "_aux .c", "_-rf", "_~", "console",
    ]  # fmt: skip
    assert file_name("a\ud800b\u202etxt.exe") == "a_b_txt.exe"


@pytest.mark.parametrize("target", ["absent/out.json", ".", "", "out/"])
@pytest.mark.parametrize(
    "words",
    [
        ["op", "call", "createIssue", "-d", '{"fields": {}}'],
        ["op", "call", "deleteIssue", "--param", "issueIdOrKey=DEMO-1", "--yes"],
        ["api", "POST", "/rest/api/3/issue", "-d", "{}"],
        ["api", "DELETE", "/rest/api/3/issue/DEMO-1", "--yes"],
    ],
)
def test_a_place_that_cannot_be_written_is_found_before_a_change(words: list[str], target: str, tmp_path: Path) -> None:
    with serve([]) as server:
        environ = environment(tmp_path / "home", server.url)
        done = run_program("suite", [*words, "--out", f"{tmp_path}/{target}" if target else ""], environ)
    assert (done.exit, server.requests) == (2, []), done.stderr


@posix
def test_an_attachment_of_any_name_is_saved(tmp_path: Path) -> None:
    names = ["x" * 300 + ".txt", "a\ud800b", "../../etc/passwd", "CON", ".hidden", "", "\u202etxt.exe"]
    found = [{"id": str(number), "filename": name} for number, name in enumerate(names)]
    script = [exchange("GET", "/rest/api/3/issue/DEMO-1", reply(body=_json({"fields": {"attachment": found}})))]
    script += [
        exchange("GET", f"/rest/api/3/attachment/content/{number}", reply(text=f"{number}"))
        for number in range(len(names))
    ]
    with serve(script, trusted=True) as server:
        environ = environment(tmp_path / "home", server.url)
        done = run_program("suite", ["issues", "download", "DEMO-1", "--dir", str(tmp_path / "out")], environ)
    assert done.exit == 0, done.stderr
    assert len(os.listdir(tmp_path / "out")) == len(names)


def _json(value: object) -> bytes:
    import json

    return json.dumps(value).encode()
