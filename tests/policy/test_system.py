"""The file of the machine: only what nobody but the administrator can change counts."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from callsheet.policy.policy_sources import system_file, why_not_administrators

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are kept elsewhere there")


class Status:
    def __init__(self, mode: int, owner: int = 0, group: int = 0) -> None:
        self.st_mode, self.st_uid, self.st_gid = mode, owner, group


OTHERS = "can be changed by others than root"
FILE, DIRECTORY, LINK = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755, stat.S_IFLNK | 0o777


@pytest.mark.parametrize(
    ("statuses", "doubt"),
    [
        ({}, None),
        ({"/etc/x/policy.toml": Status(FILE, owner=1000)}, "/etc/x/policy.toml does not belong to root"),
        ({"/etc/x": Status(DIRECTORY, owner=1000)}, "/etc/x does not belong to root"),
        ({"/etc": Status(DIRECTORY | 0o002)}, f"/etc {OTHERS}"),
        ({"/etc/x": Status(DIRECTORY | 0o1777)}, f"/etc/x {OTHERS}"),
        ({"/etc/x/policy.toml": Status(FILE | 0o020)}, None),
        (
            {"/etc/x/policy.toml": Status(FILE | 0o020, group=50)},
            f"/etc/x/policy.toml {OTHERS}",
        ),
        ({"/etc/x/policy.toml": Status(LINK)}, None),
        ({"/etc/x/policy.toml": Status(LINK, owner=7)}, "/etc/x/policy.toml does not belong to root"),
        ({"/real/policy.toml": Status(FILE, owner=7)}, "/real/policy.toml does not belong to root"),
    ],
)
def test_root_owns_the_file_and_all_above(
    statuses: dict[str, Status], doubt: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lstat(path: str) -> Status:
        return statuses.get(path, Status(FILE if path.endswith(".toml") else DIRECTORY))

    monkeypatch.setattr(os, "lstat", lstat)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os.path, "realpath", lambda _: "/real/policy.toml")
    assert why_not_administrators("/etc/x/policy.toml") == doubt


def test_a_persons_own_file_never_counts(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('destroy = "deny"')
    path.chmod(0o666)
    assert why_not_administrators(str(path)) is not None


def test_no_variable_moves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = system_file()
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "CALLSHEET_HOME", "ProgramData"):
        monkeypatch.setenv(name, "/elsewhere")
    assert system_file() == usual
