"""Bodies that go to and come from files."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest

from callsheet.client.http.download import save_to, write_to
from callsheet.errors import CallsheetError, UsageError
from support.places import TESTS
from support.server import exchange, reply, serve
from support.shop import shop

PICTURE = "/api/3/item/1/picture"


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_a_download_appears_whole(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    with shop([exchange("GET", PICTURE, reply(body=data), headers={"Accept": "*/*"})]) as here:
        assert save_to(here.client, here.build("getPicture", {"id": "1"}), str(tmp_path / "p.png")) == len(data)
    assert (tmp_path / "p.png").read_bytes() == data
    assert names(tmp_path) == ["p.png"]


def test_a_short_download_leaves_nothing_and_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(b"old")
    with (
        shop([exchange("GET", PICTURE, reply(body=b"x" * 100_000, cut=50_000))]) as here,
        pytest.raises(CallsheetError, match="cut off") as caught,
    ):
        save_to(here.client, here.build("getPicture", {"id": "1"}), str(tmp_path / "p.png"))
    assert caught.value.exit_code == 7
    assert (tmp_path / "p.png").read_bytes() == b"old"
    assert names(tmp_path) == ["p.png"]


def test_an_interrupted_download_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with shop([exchange("GET", PICTURE, reply(body=b"data"))]) as here, pytest.raises(KeyboardInterrupt):
        save_to(here.client, here.build("getPicture", {"id": "1"}), str(tmp_path / "p.png"))
    assert names(tmp_path) == []


def test_a_failed_download_is_an_error_and_no_file(tmp_path: Path) -> None:
    with (
        shop([exchange("GET", PICTURE, reply(404, json={"message": "no picture"}))]) as here,
        pytest.raises(CallsheetError, match="404: no picture"),
    ):
        save_to(here.client, here.build("getPicture", {"id": "1"}), str(tmp_path / "p.png"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("target", [".", "absent/p.png"])
def test_a_place_that_cannot_be_written(tmp_path: Path, target: str) -> None:
    with (
        shop([exchange("GET", PICTURE, reply(body=b"data"), repeat=None)], verify=False) as here,
        pytest.raises(CallsheetError, match=r"is a directory|cannot write .*no such file"),
    ):
        save_to(here.client, here.build("getPicture", {"id": "1"}), str(tmp_path / target))


def test_a_download_to_a_stream() -> None:
    stream = io.BytesIO()
    with shop([exchange("GET", PICTURE, reply(body=b"\x00\xff"))]) as here:
        assert write_to(here.client, here.build("getPicture", {"id": "1"}), stream) == 2
    assert stream.getvalue() == b"\x00\xff"


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_to_a_person_only(terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    with shop([exchange("GET", PICTURE, reply(body=b"x" * 200_000))]) as here:
        save_to(here.client, here.build("getPicture", {"id": "1"}), str(tmp_path / "p.png"))
    assert ("100%" in screen.getvalue()) is terminal


def test_no_progress_is_shown_of_an_unknown_length(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, stream = io.StringIO(), io.BytesIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    with shop([exchange("GET", PICTURE, reply(body=b"", headers={"Content-Length": "0"}))]) as here:
        assert write_to(here.client, here.build("getPicture", {"id": "1"}), stream) == 0
    assert screen.getvalue() == ""


def test_a_multipart_upload_names_types_and_parts(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"\x89PNG")
    (tmp_path / "über.txt").write_bytes(b"text")
    files = [str(tmp_path / "a b.png"), f"file={tmp_path / 'über.txt'}"]
    with shop([exchange("POST", "/api/3/item/1/files", reply(json=[]), headers={"X-Check": "no"})]) as here:
        here.send("attach", {"id": "1", "comment": "look"}, files=files)
        sent = here.server.requests[0]
    assert sent.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="file"; filename="a b.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n' in sent.body
    assert 'filename="über.txt"\r\nContent-Type: text/plain\r\n\r\ntext'.encode() in sent.body
    assert b'name="comment"\r\n\r\nlook\r\n' in sent.body


def test_a_raw_upload_is_sent_as_what_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "p.png"
    path.write_bytes(b"\x89PNG" * 50_000)
    sent = {"Content-Type": "image/png", "Content-Length": "200000"}
    with shop([exchange("PUT", PICTURE, reply(204), headers=sent, body=path.read_bytes())]) as here:
        here.send("putPicture", {"id": "1"}, files=[str(path)])


def test_an_upload_is_read_anew_for_each_try(tmp_path: Path) -> None:
    path = tmp_path / "p.png"
    path.write_bytes(b"\x89PNG")
    script = [
        exchange("PUT", PICTURE, reply(503), body=b"\x89PNG"),
        exchange("PUT", PICTURE, reply(204), body=b"\x89PNG"),
    ]
    with shop(script) as here:
        here.send("putPicture", {"id": "1"}, files=[str(path)])


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.png"
    path.write_bytes(b"\x89PNG")
    with shop() as here:
        request = here.build("putPicture", {"id": "1"}, files=[str(path)])
        path.unlink()
        with pytest.raises(UsageError, match=r"p\.png: no such file"):
            here.client.send(request)


SIZE = 64 * 1024 * 1024
PROGRAM = textwrap.dedent(
    """
    import resource, sys
    sys.path.insert(0, sys.argv[3])
    from support.fakes import Definitions, FakeSite
    from support.shop import DEFINITIONS
    from callsheet.client.http.http_client import Client
    from callsheet.client.http.download import save_to
    from callsheet.client.request.build import Builder
    url, path = sys.argv[1:3]
    site, definitions = FakeSite(url), Definitions(DEFINITIONS)
    builder = Builder(definitions, site, "suite")
    with Client(site, definitions) as client:
        client.send(builder.build_request("getItem", {"id": "1"}))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        save_to(client, builder.build_request("getPicture", {"id": "1"}), path)
        client.send(builder.build_request("putPicture", {"id": "1"}, files=[path]))
        client.send(builder.build_request("attach", {"id": "1"}, files=[path]))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    print((after - before) * unit)
    """
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read from resource usage")
def test_memory_stays_flat_while_files_go_down_and_up(tmp_path: Path) -> None:
    def chunks() -> Iterable[bytes]:
        block = b"\x00" * 65536
        return (block for _ in range(SIZE // 65536))

    script = [
        exchange("GET", "/api/3/item/1", reply(json={})),
        exchange("GET", PICTURE, reply(chunks=chunks, headers={"Content-Length": str(SIZE)})),
        exchange("PUT", PICTURE, reply(204)),
        exchange("POST", "/api/3/item/1/files", reply(json=[])),
    ]
    with serve(script, trusted=True) as server:
        command = [
            sys.executable,
            "-c",
            PROGRAM,
            server.url,
            str(tmp_path / "big.png"),
            str(TESTS),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert [len(request.body) >= SIZE for request in server.requests[2:]] == [True, True]
    assert int(re.findall(r"\d+", done.stdout)[-1]) < 8 * 1024 * 1024
