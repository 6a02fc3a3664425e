"""Pin what is installed in CI and in a container, with hashes: `python3 scripts/lock.py [--upgrade]`.

Ranges stay in `pyproject.toml`. `requirements.lock` holds what the programs need, every extra included;
`requirements-dev.lock` holds that and the tools, `requirements-build.lock` what builds the project itself. All are for
every platform and every supported Python. Install with
`pip install --require-hashes -r requirements.lock`, then the project itself with `--no-deps`.
"""

from __future__ import annotations

import sys

from environment import project, ready, run

PROJECT = "pyproject.toml"
EXTRAS = [word for name in project()["optional-dependencies"] if name != "dev" for word in ("--extra", name)]
LOCKS = {
    "requirements.lock": [PROJECT, *EXTRAS],
    "requirements-dev.lock": [PROJECT, "--extra", "dev"],
    "requirements-build.lock": ["--group", "build"],
}

if __name__ == "__main__":
    python = ready("dev")
    for name, source in LOCKS.items():
        words = ["--universal", "--python-version", "3.11", "--generate-hashes", "--quiet", *sys.argv[1:], *source]
        same = ["--custom-compile-command", "python3 scripts/lock.py", "--output-file", name]
        if run(python, "-m", "uv", "pip", "compile", *words, *same) != 0:
            raise SystemExit(f"{name} was not written")
