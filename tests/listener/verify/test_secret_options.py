"""Where secrets come from: options, files and a variable, one a line, and never none by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.errors import CallsheetError, UsageError
from callsheet.listener.verify.secret_options import collect_secrets


def collected(*, values: tuple[str, ...] = (), files: tuple[Path, ...] = (), **environ: str) -> list[str]:
    return collect_secrets(values, [str(path) for path in files], (), "SECRET", environ, "LMS", "lms")


def file(folder: Path, data: bytes, mode: int = 0o600) -> Path:
    path = folder / "secrets"
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_all_of_them_count_in_order(tmp_path: Path) -> None:
    given = file(tmp_path, b"c\n\nd \r\n")
    assert collected(values=("a", "b"), files=(given,), SECRET="e\nf") == ["a", "b", "c", "d ", "e", "f"]
    assert collected(OTHER="x") == []


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_variable_or_file_without_a_secret_is_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SECRET is set, but contains no secret") as caught:
        collected(SECRET=text)
    assert caught.value.hint == "put the secret into it, or: unset SECRET"
    with pytest.raises(UsageError, match=r"--secret-file: .*: contains no secret"):
        collected(files=(file(tmp_path, text.encode()),))


def test_an_empty_option_is_named() -> None:
    with pytest.raises(UsageError, match=r"^--secret is empty$"):
        collected(values=("a", ""))


@pytest.mark.parametrize(
    ("data", "mode", "problem"),
    [
        (b"\xff\n", 0o600, "not valid UTF-8"),
        (b"\xef\xbb\xbfa\n", 0o600, "byte-order mark"),
        (b"a\n", 0o644, "--secret-file:"),
        (None, 0, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(data: bytes | None, mode: int, problem: str, tmp_path: Path) -> None:
    given = tmp_path / "missing" if data is None else file(tmp_path, data, mode)
    with pytest.raises(CallsheetError, match=problem) as caught:
        collected(files=(given,))
    assert str(given) in caught.value.message
