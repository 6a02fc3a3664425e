"""Make what shells and `man` read of the programs, for packages: `python3 scripts/share.py`.

`build/share` has manual pages, and completion for bash, zsh and fish, where each of them looks below `/usr/share`,
`/usr/local/share` or, where pipx links the manual pages, `~/.local/share`. `build/stubs` has the types of `suite`. The
next wheel has them too.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from environment import ROOT, project, ready, run

SHARE = ROOT / "build" / "share"
STUBS = ROOT / "build" / "stubs"
COMPLETION = {
    "bash": "bash-completion/completions/{}",
    "zsh": "zsh/site-functions/_{}",
    "fish": "fish/vendor_completions.d/{}.fish",
}


def main() -> None:
    python = ready("dev")
    shutil.rmtree(SHARE, ignore_errors=True)
    if run(python, "scripts/man.py", str(SHARE / "man")) != 0:
        raise SystemExit("the manual pages could not be made")
    scripts = project()["scripts"]
    for program in scripts:
        for shell, place in COMPLETION.items():
            write(python, program, shell, SHARE / place.format(program))
    shutil.rmtree(STUBS, ignore_errors=True)
    if run(python, "-m", "callsheet", "callsheet", "stubs", "suite", "--to", str(STUBS), "--quiet") != 0:
        raise SystemExit("the types could not be made")
    print(f"{SHARE.relative_to(ROOT)}: {sum(path.is_file() for path in SHARE.rglob('*'))} files")


def write(python: Path, program: str, shell: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [str(python), "-m", "callsheet", program, "completion", shell]
    target.write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


if __name__ == "__main__":
    main()
