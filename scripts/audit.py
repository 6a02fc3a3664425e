"""Known vulnerabilities of what is pinned, where the service that knows them can be asked; else a word about it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from environment import ROOT, ready

PATIENCE = 120
COMMAND = ["-m", "pip_audit", "--requirement", "requirements-dev.lock", "--disable-pip", "--require-hashes"]
OPTIONS = ["--format", "json", "--progress-spinner", "off", "--timeout", "10"]


def audited() -> list[dict[str, Any]]:
    """The packages that the service knows; raises `ValueError` that says why none is."""
    try:
        done = subprocess.run(
            [ready("dev"), *COMMAND, *OPTIONS], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"no answer within {PATIENCE} s") from None
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        raise ValueError((done.stderr.strip().splitlines() or ["no answer"])[-1][:200]) from None
    known = [each for each in found if "skip_reason" not in each]
    if not known:
        raise ValueError("it knows none of the packages")
    return known


def main() -> int:
    try:
        found = audited()
    except ValueError as error:
        print(f"skipped, the service that knows vulnerabilities cannot be asked: {error}")
        return 0
    bad = [each for each in found if each["vulns"]]
    for each in bad:
        print(f"{each['name']} {each['version']}: {', '.join(vuln['id'] for vuln in each['vulns'])}", file=sys.stderr)
    print(f"{len(found)} packages, {len(bad)} with known vulnerabilities")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
