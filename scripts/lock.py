"""Pin what is installed in CI and in a container, with hashes: `python3 scripts/lock.py [--upgrade]`.

Ranges stay in `pyproject.toml`. `requirements.lock` holds what the programs need, every extra included;
`requirements-dev.lock` holds that and the tools. Both are for every platform and every supported Python. Install with
`pip install --require-hashes -r requirements.lock`, then the project itself with `--no-deps`.
"""

from __future__ import annotations

import sys

from environment import ready, run

LOCKS = {
    "requirements.lock": ["--extra", "mcp", "--extra", "nats", "--extra", "socks"],
    "requirements-dev.lock": ["--extra", "dev"],
}

if __name__ == "__main__":
    python = ready("dev")
    for name, extras in LOCKS.items():
        words = ["--universal", "--python-version", "3.11", "--generate-hashes", "--quiet", *sys.argv[1:], *extras]
        same = ["--custom-compile-command", "python3 scripts/lock.py", "--output-file", name]
        if run(python, "-m", "uv", "pip", "compile", "pyproject.toml", *words, *same) != 0:
            raise SystemExit(f"{name} was not written")
