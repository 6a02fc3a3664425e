"""Gather the fragments in `changes/` under a version's heading: `python3 scripts/changelog.py VERSION DATE`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("added", "changed", "fixed")


def gathered(fragments: list[Path], version: str, date: str) -> str:
    """The new section: one list per kind, fragments in the order of their names."""
    blocks = [f"## {version} ({date})"]
    for kind in KINDS:
        texts = [
            " ".join(path.read_text(encoding="utf-8").split())
            for path in fragments
            if path.suffixes == [f".{kind}", ".md"]
        ]
        if texts:
            blocks.append(f"### {kind.capitalize()}\n\n" + "\n".join(f"- {text}" for text in texts))
    return "\n\n".join(blocks)


def main(version: str, date: str) -> None:
    fragments = sorted((ROOT / "changes").glob("*.md"))
    wrong = [path.name for path in fragments if path.suffixes[:1] not in [[f".{kind}"] for kind in KINDS]]
    if wrong:
        raise SystemExit(f"not <name>.<{'|'.join(KINDS)}>.md: {', '.join(wrong)}")
    if not fragments:
        raise SystemExit("there is no fragment in changes/")
    log = ROOT / "CHANGELOG.md"
    head, _, rest = log.read_text(encoding="utf-8").partition("\n## ")
    section = gathered(fragments, version, date)
    log.write_text(f"{head.rstrip()}\n\n{section}\n" + (f"\n## {rest}" if rest else ""), encoding="utf-8")
    for path in fragments:
        path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
