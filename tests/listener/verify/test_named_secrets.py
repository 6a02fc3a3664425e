"""`--secret-key`: secrets from the store of credentials, here the encrypted file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from callsheet.errors import NotFound, UsageError
from callsheet.listener.verify.secret_options import NamedSecrets
from support.listening import SECRET, command, environment, event, listening, run
from support.waiting import PATIENCE

PASSWORD = {"LMS_KEYRING_PASSWORD": "opens the file"}
FILE = "credentials.enc"


def keep(folder: Path, name: str, typed: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("secret", "set", name),
        input=typed,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder, **environ),
        timeout=PATIENCE * 2,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_kept_secret_proves_deliveries(tmp_path: Path) -> None:
    done = keep(tmp_path, "now", f"{SECRET}\n", **PASSWORD)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "the encrypted file" in done.stderr
    assert keep(tmp_path, "before", "the old one", **PASSWORD).returncode == 0
    file = tmp_path / "home" / FILE
    assert file.stat().st_mode & 0o077 == 0
    assert SECRET.encode() not in file.read_bytes()
    shown = '[route.r]\ndo = [{ handler = "exec", run = ["env"] }]\n'
    names = ("--secret-key", "now", "--secret-key", "before")
    with listening(tmp_path, *names, routes=shown, environ=PASSWORD) as listener:
        assert listener.send(event("1")).status == 200
        assert listener.send(event("2"), "the old one").status == 200
        assert listener.send(event("3"), "another").status == 401
        to = ("--to", f"http://127.0.0.1:{listener.port}/webhook", "--secret-key", "before")
        assert run(tmp_path, "trigger", "grade_change", *to, **PASSWORD).returncode == 0
        listener.logged("CALLSHEET_HOME")
        assert PASSWORD["LMS_KEYRING_PASSWORD"] not in listener.err
        assert SECRET not in listener.err + listener.out


def test_the_password_may_stand_in_a_file_and_the_store_be_forced(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("opens the file\n", encoding="utf-8")
    file.chmod(0o600)
    forced = {"LMS_KEYRING_PASSWORD_FILE": str(file), "LMS_KEYRING_BACKEND": "file"}
    assert keep(tmp_path, "now", SECRET, **forced).returncode == 0
    assert NamedSecrets("LMS", environment(tmp_path, **PASSWORD), "lms").get_secret("now") == SECRET


def test_a_secret_is_forgotten(tmp_path: Path) -> None:
    kept = NamedSecrets("LMS", environment(tmp_path, **PASSWORD), "lms")
    kept.put_secret("now", SECRET)
    assert run(tmp_path, "secret", "delete", "now", **PASSWORD).returncode == 0
    with pytest.raises(NotFound):
        kept.get_secret("now")
    assert run(tmp_path, "secret", "delete", "now", **PASSWORD).returncode == 4


@pytest.mark.parametrize("name", ["", "a b", "../x", "webhook:x", "-x"])
def test_a_name_is_a_word(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a secret's name"):
        NamedSecrets("LMS", environment(tmp_path, **PASSWORD), "lms").put_secret(name, SECRET)


@pytest.mark.parametrize(
    ("typed", "words"),
    [("", "empty"), ("\n", "empty"), (f" {SECRET}\n", "whitespace"), (f"{SECRET}\nb\n", "several lines")],
)
def test_what_is_no_secret_is_not_kept(typed: str, words: str, tmp_path: Path) -> None:
    done = keep(tmp_path, "now", typed, **PASSWORD)
    assert done.returncode == 2
    assert words in done.stderr
    assert SECRET not in done.stderr
    assert not (tmp_path / "home" / FILE).exists()


@pytest.mark.parametrize(
    ("environ", "code", "words"),
    [
        (PASSWORD, 4, "no secret 'other' in the encrypted file"),
        ({"LMS_KEYRING_PASSWORD": "wrong"}, 3, "check LMS_KEYRING_PASSWORD"),
        ({"LMS_KEYRING_BACKEND": "file"}, 3, "set LMS_KEYRING_PASSWORD or LMS_KEYRING_PASSWORD_FILE"),
        ({"LMS_KEYRING_BACKEND": "flie"}, 2, "did you mean 'file'?"),
        ({"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}, 1, "set LMS_KEYRING_PASSWORD to a password"),
    ],
)
def test_what_stands_in_the_way_is_said(environ: dict[str, str], code: int, words: str, tmp_path: Path) -> None:
    NamedSecrets("LMS", environment(tmp_path, **PASSWORD), "lms").put_secret("now", SECRET)
    done = run(tmp_path, "listen", "--addr", ":0", "--secret-key", "other", **environ)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
