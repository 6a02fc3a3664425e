"""The changelog, from the fragments in `changes/`: `python3 scripts/changelog.py VERSION DATE`.

The fragments become a section of the version, or come into the one that there is, and are removed. For a release:

    --version   print the version of the project
    --check     nothing is left to gather, and the changelog has this version with a date
    --notes     print the section of this version
"""

from __future__ import annotations

import datetime as dt
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "CHANGELOG.md"
KINDS = ("added", "changed", "fixed")
UNDATED = "not released yet"


def fragments(root: Path = ROOT) -> list[Path]:
    """In the order of their names. Raises `SystemExit` for a file that is none."""
    found = sorted((root / "changes").glob("*.md"))
    wrong = [path.name for path in found if path.suffixes[:1] not in [[f".{kind}"] for kind in KINDS]]
    if wrong:
        raise SystemExit(f"not <name>.<{'|'.join(KINDS)}>.md: {', '.join(wrong)}")
    return found


def split(log: str, version: str) -> tuple[str, str, str]:
    """What stands before the section of a version, the section without its heading, and what follows."""
    match = re.search(rf"^## {re.escape(version)} \([^)\n]*\)\n(.*?)(?=^## |\Z)", log, re.MULTILINE | re.DOTALL)
    if match:
        return log[: match.start()].rstrip(), match[1].strip(), log[match.end() :]
    head, mark, rest = log.partition("\n## ")
    return head.rstrip(), "", mark.strip("\n") + rest


def merged(section: str, found: list[Path]) -> str:
    """The section with the fragments at the ends of its lists; what else it says stays above these."""
    intro, *lists = re.split(r"^### ", section, flags=re.MULTILINE)
    there = {title.strip().lower(): text.strip() for title, _, text in (each.partition("\n") for each in lists)}
    for path in found:
        line = f"- {' '.join(path.read_text(encoding='utf-8').split())}"
        kind = path.suffixes[0].removeprefix(".")
        there[kind] = f"{there[kind]}\n{line}" if kind in there else line
    titles = sorted(there, key=lambda title: KINDS.index(title) if title in KINDS else -1)
    return "\n\n".join(filter(None, [intro.strip(), *(f"### {each.capitalize()}\n\n{there[each]}" for each in titles)]))


def gather(version: str, date: str, root: Path = ROOT) -> None:
    found, log = fragments(root), root / "CHANGELOG.md"
    before, section, after = split(log.read_text(encoding="utf-8"), version)
    if not found and not section:
        raise SystemExit("there is no fragment in changes/")
    text = f"{before}\n\n## {version} ({date})\n\n{merged(section, found)}\n"
    log.write_text(text + (f"\n{after}" if after else ""), encoding="utf-8")
    for path in found:
        path.unlink()


def project_version(root: Path = ROOT) -> str:
    version: str = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return version


def check(root: Path = ROOT) -> None:
    """Raises `SystemExit` where something is left to do before a release."""
    version = project_version(root)
    if left := fragments(root):
        raise SystemExit(f"{len(left)} fragments in changes/ are in no version yet")
    dated = re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", _read(root), re.MULTILINE)
    if not dated:
        raise SystemExit(f"CHANGELOG.md has no version {version} with a date")


def _read(root: Path) -> str:
    return (root / "CHANGELOG.md").read_text(encoding="utf-8")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["--version"]:
            print(project_version())
        case ["--check"]:
            check()
        case ["--notes"]:
            print(split(_read(ROOT), project_version())[1])
        case [version, date] if not version.startswith("-"):
            if date != UNDATED:
                _check_date(date)
            gather(version, date)
        case _:
            raise SystemExit(__doc__)


def _check_date(date: str) -> None:
    try:
        dt.date.fromisoformat(date)
    except ValueError:
        raise SystemExit(f"{date!r} is not a date, as 2026-11-22") from None


if __name__ == "__main__":
    main(sys.argv[1:])
