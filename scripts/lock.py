"""Pin what is installed in CI and in a container, with hashes: `python3 scripts/lock.py [--upgrade]`.

Ranges stay in `pyproject.toml`. `requirements.lock` holds what the programs need, every extra included;
`requirements-dev.lock` holds that and the tools, `requirements-build.lock` what builds the project itself. All are for
every platform and every supported Python. Install with
`pip install --require-hashes -r requirements.lock`, then the project itself with `--no-deps`.
"""

from __future__ import annotations

import sys

from environment import ready, run

PROJECT = "pyproject.toml"
LOCKS = {
    "requirements.lock": [
        PROJECT,
        "--extra",
        "brokers",
        "--extra",
        "guard",
        "--extra",
        "mcp",
        "--extra",
        "nats",
        "--extra",
        "otel",
        "--extra",
        "socks",
        "--extra",
        "ui",
        "--extra",
        "warehouse",
    ],
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
