"""Write docs/commands-*.md, the help of every command: `python3 scripts/reference.py [--check]`."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from pathlib import Path

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
WIDTH = "COLUMNS"


def paths(catalog: Catalog, parent: str = "") -> list[str]:
    found: list[str] = []
    for child in catalog.children(parent):
        if child.hidden:
            continue
        path = f"{parent} {child.name}".strip()
        found.append(path)
        if child.kind == "group":
            found += paths(catalog, path)
    return found


def help_of(program: str, path: str, environ: dict[str, str]) -> str:
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdout = sys.stdout, out
    try:
        code = run(program, [*path.split(), "--help"], environ=environ, stdout=out, stderr=err)
    finally:
        sys.stdout = before
    if code != 0:
        raise SystemExit(f"{program} {path} --help: {err.getvalue()}")
    return out.getvalue().rstrip()


def reference(program: str, environ: dict[str, str]) -> str:
    catalog = open_catalog(program, environ)
    blocks = [f"# The commands of `{program}`", "Written by `scripts/reference.py` from the definitions."]
    for path in ["", *paths(catalog)]:
        name = f"{program} {path}".strip()
        blocks.append(f"## `{name}`\n\n```text\n{help_of(program, path, environ)}\n```")
    catalog.close()
    return "\n\n".join(blocks) + "\n"


def main(arguments: list[str]) -> int:
    os.environ[WIDTH] = "100"
    with tempfile.TemporaryDirectory() as home:
        environ = {"CALLSHEET_HOME": home, "HOME": home}
        written = {
            ROOT / "docs" / f"commands-{name}.md": reference(name, environ) for name in ("suite", "lms", "callsheet")
        }
    stale = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run python3 scripts/reference.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(written[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
