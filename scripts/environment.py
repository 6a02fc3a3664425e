"""The project's own virtual environments, one for each version of Python, made on first use.

`.venv` is of the version that it was first made with, `.venv-3.13` and the like are of others. Needs nothing but Python
3.11 with venv.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MINIMUM = (3, 11)
EVERYTHING = "installed-dev"  # the extra of the developers has the packages of all others
# One more than there are cores: some tests wait for processes and time limits, and others run meanwhile.
PROCESSES = (os.cpu_count() or 1) + 1
LOCKED = "CALLSHEET_LOCKED"  # set: exactly what the lock files name is installed, as CI and containers want it


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    import tomllib  # which an old Python does not have, that is to be told so by `ready`

    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def ready(extra: str = "") -> Path:
    """The Python of an environment that has the project (and the extra's packages) installed."""
    if sys.version_info < MINIMUM:
        raise SystemExit(f"Python {MINIMUM[0]}.{MINIMUM[1]} or later is needed, this is {sys.version.split()[0]}")
    home = _home()
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = home / f"installed-{extra or 'plain'}"
    lock = ROOT / ("requirements-dev.lock" if extra else "requirements.lock") if os.environ.get(LOCKED) else None
    sources = [ROOT / "pyproject.toml", *([lock] if lock else [])]
    wanted = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    if any(made.exists() and made.read_text() == wanted for made in (stamp, home / EVERYTHING)):
        return python
    print(f"setting up {home.name} (once, about a minute) ...", file=sys.stderr, flush=True)
    try:
        if not python.exists():
            venv.create(home, with_pip=True)
    except (subprocess.CalledProcessError, OSError) as error:
        raise SystemExit(f"cannot make {home}: {error}\non Debian and Ubuntu: apt install python3-venv") from None
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    if lock:
        _pip(python, "--require-hashes", "--requirement", str(lock))
        _pip(python, "--no-deps", "--no-build-isolation" if extra else "--no-deps", "--editable", str(ROOT))
    else:
        _pip(python, "--editable", target)
    stamp.write_text(wanted)
    return python


def _home() -> Path:
    """Where the environment of the running version of Python is, or is to be."""
    usual, running = ROOT / ".venv", f"{sys.version_info[0]}.{sys.version_info[1]}"
    try:
        facts = (usual / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        return usual
    is_of_it = re.search(rf"^version(_info)? *= *{re.escape(running)}\.", facts, re.MULTILINE)
    return usual if is_of_it else ROOT / f".venv-{running}"


def _pip(python: Path, *words: str) -> None:
    if subprocess.run([python, "-m", "pip", "install", "--quiet", *words], check=False).returncode != 0:
        raise SystemExit(
            "pip could not install the project; the lines above say why\n"
            "it downloads packages: behind a proxy set HTTPS_PROXY, with a mirror set PIP_INDEX_URL"
        )


def run(python: Path, *arguments: str) -> int:
    """Run Python with these arguments in the project's directory; the exit code."""
    return subprocess.run([python, *arguments], cwd=ROOT, check=False).returncode
