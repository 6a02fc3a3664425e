"""Programs in one file each, which need nothing but Python: `python3 scripts/onefile.py [PROGRAM...]`.

`dist/suite-linux-x86_64-py311.pyz` has the project, its extras and all that they need, as `requirements.lock` names
it. It runs on the platform and the version of Python that it was made with, under whatever name. Every file is tried
before this ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from environment import ROOT, project, ready, run

DIST = ROOT / "dist"
# Bytes that are the same whenever they are built; a wheel cannot be older than the format of zip files.
EPOCH = {"SOURCE_DATE_EPOCH": "315532800"}


def built(python: Path, site: Path, program: str) -> Path:
    platform = sysconfig.get_platform().replace(".", "_")
    target = DIST / f"{program}-{platform}-py{sys.version_info[0]}{sys.version_info[1]}.pyz"
    shebang = f"/usr/bin/env python{sys.version_info[0]}.{sys.version_info[1]}"
    words = ["--reproducible", "--no-modify", "-p", shebang, "-c", program, "--site-packages", str(site)]
    os.environ.update(EPOCH)
    if run(python, "-m", "shiv", *words, "-o", str(target)) != 0:
        raise SystemExit(f"{target} was not made")
    return target


def install(python: Path, site: Path) -> None:
    """All that the programs need, and the project itself, into a folder."""
    into = ["-m", "pip", "install", "--quiet", "--target", str(site)]
    if run(python, *into, "--require-hashes", "-r", "requirements.lock") != 0:
        raise SystemExit("what the programs need could not be installed")
    if run(python, *into, "--upgrade", "--no-deps", "--no-build-isolation", str(ROOT)) != 0:
        raise SystemExit("the project could not be installed")


def check(target: Path, program: str) -> None:
    """Started under another name, from another folder, with nothing of this project in reach."""
    with tempfile.TemporaryDirectory() as home:
        renamed = Path(home) / "anything"
        renamed.write_bytes(target.read_bytes())
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        environ = {**kept, "HOME": home, "SHIV_ROOT": f"{home}/unpacked", "CALLSHEET_HOME": f"{home}/settings"}
        for words in (["version"], ["--help"], ["definitions", "check"]):
            done = subprocess.run(
                [sys.executable, renamed, *words], cwd=home, env=environ, capture_output=True, text=True, check=False
            )
            said = f"{' '.join([target.name, *words])} ended with {done.returncode}: {done.stderr}"
            if done.returncode != 0 or (words == ["version"] and not done.stdout.startswith(f"{program} ")):
                raise SystemExit(said)


def main(programs: list[str]) -> None:
    scripts = project()["scripts"]
    if wrong := [name for name in programs if name not in scripts]:
        raise SystemExit(f"no such program: {', '.join(wrong)}; there are {', '.join(scripts)}\n\n{__doc__}")
    python = ready("dev")
    DIST.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site-packages"
        install(python, site)
        for program in programs or scripts:
            target = built(python, site, program)
            check(target, program)
            print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
