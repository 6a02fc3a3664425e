"""Whatever is nested without measure, or in a codec that is none of texts, ends with a clear error."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from callsheet.cli.main import run
from support.cases import environment
from support.hostile_server import answer, deep_json, hostile

DEEP = 100_000
BROKEN = "a = " + "[" * DEEP


def told(argv: list[str], home: Path, url: str = "http://localhost:1", stdin: str = "") -> tuple[int, str]:
    err = io.StringIO()
    environ = environment(home, url)
    code = run("suite", argv, environ=environ, stdin=io.StringIO(stdin), stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


@pytest.mark.parametrize(
    "argv",
    [
        ["op", "call", "createIssue", "-d", "[" * DEEP],
        ["api", "POST", "/x", "-d", '{"a":' * DEEP],
        ["config", "set", "sites.a.timeout", "[" * DEEP],
        ["convert", "--from", "adf", "--to", "markdown"],
    ],
    ids=lambda argv: " ".join(argv[:2]),
)
def test_what_is_typed(argv: list[str], tmp_path: Path) -> None:
    code, err = told(argv, tmp_path / "home", stdin="[" * DEEP)
    assert code in {1, 2}
    assert err.startswith("error: ")
    assert "unexpected" not in err


def test_a_file_of_settings(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "profiles.toml").write_text(BROKEN, encoding="utf-8")
    (home / "profiles.toml").chmod(0o600)
    code, err = told(["config", "view"], home)
    assert (code, "nested too deeply" in err) == (2, True), err


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
def test_an_answer(status: str, tmp_path: Path) -> None:
    deep = deep_json(DEEP) if status == "200 OK" else answer(b'{"errorMessages":' + b"[" * DEEP, status=status)
    with hostile(deep, trusted=True) as server:
        code, err = told(["op", "call", "getIssue", "--param", "issueIdOrKey=A-1"], tmp_path / "home", server.url)
    assert code == 1
    assert err.startswith("error: ")


@pytest.mark.parametrize("name", ["rot13", "idna", "zlib", "undefined", "punycode", "hex", "nonsense"])
def test_an_answer_in_a_codec_that_is_none_of_texts(name: str, tmp_path: Path) -> None:
    headers = {"Content-Type": f"text/plain; charset={name}"}
    with hostile(answer(b"no", status="400 Bad Request", headers=headers), trusted=True) as server:
        code, err = told(["op", "call", "getIssue", "--param", "issueIdOrKey=A-1"], tmp_path / "home", server.url)
    assert (code, err.startswith("error: ")) == (1, True), err
