"""Many processes at once, and processes that die: nothing is lost and nothing is half written."""

from __future__ import annotations

import signal
import subprocess
import sys
import tomllib

import pytest

from callsheet.sites.credentials.encrypted import EncryptedFile
from support.canary import CANARY
from support.fakesite import EMAIL, TOKEN, FakeSite
from support.shell import Shell
from support.waiting import PATIENCE

COUNT = 10


@pytest.mark.slow
def test_many_processes_at_once_lose_nothing(shell: Shell, site: FakeSite) -> None:
    """Half of them sign in to sites of their own, half change settings of one; none loses another's work."""
    shell.write_profiles(f'# mine\n[sites.first]\nbase_url = "{site.url}" # here\n')
    keys = ["output", "rps", "ca_bundle", "read_only", "scopes"]
    values = ["json", "5", "ca.pem", "true", "a,b"]
    assert shell("version").code == 0  # else each of them compiles the definitions
    processes = [
        shell.start("init", "--name", f"s{n}", "--base-url", site.url, "--email", EMAIL, SUITE_TOKEN=TOKEN)
        for n in range(COUNT // 2)
    ]
    processes += [
        shell.start("config", "set", f"sites.first.{key}", value) for key, value in zip(keys, values, strict=True)
    ]
    results = [(process.communicate(timeout=PATIENCE)[1], process.returncode) for process in processes]
    assert [code for _, code in results] == [0] * COUNT, results
    found = tomllib.loads(shell.profiles)["sites"]
    first = found.pop("first")
    assert [first[key] for key in keys] == ["json", 5, "ca.pem", True, ["a", "b"]]
    assert shell.profiles.startswith("# mine\n")
    assert "# here\n" in shell.profiles
    assert sorted(found) == sorted(f"s{n}" for n in range(COUNT // 2))
    store = EncryptedFile(str(shell.home), f"{CANARY}-password", "")
    assert [store.get(name) for name in found] == [{"token": TOKEN, "origin": site.url}] * (COUNT // 2)


# `init` in a process that is killed right before the n-th time it puts a file in its place.
KILLED = """
import os, signal, sys
from callsheet.cli.main import run
count, real = int(sys.argv[1]), os.replace
def replace(source, target, **_):
    global count
    if str(target).startswith(os.environ["CALLSHEET_HOME"]):
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
os.replace = replace
sys.exit(run("suite", sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", [1, 2])
def test_a_crash_during_sign_in_leaves_a_working_state(shell: Shell, site: FakeSite, place: int) -> None:
    shell("init", "--name", "old", "--base-url", site.url, "--email", EMAIL, SUITE_TOKEN=TOKEN)
    before = shell.profiles
    command = ["init", "--name", "new", "--base-url", site.url, "--email", EMAIL]
    environ = {**shell.environ, "SUITE_TOKEN": TOKEN}
    done = subprocess.run([sys.executable, "-c", KILLED, str(place), *command], env=environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert shell.profiles == before
    assert shell("op", "call", "getCurrentUser", "-o", "id").out == "a1\n"
    assert shell(*command, SUITE_TOKEN=TOKEN).code == 0
    assert shell("op", "call", "getCurrentUser", "--site", "new", "-o", "id").out == "a1\n"
