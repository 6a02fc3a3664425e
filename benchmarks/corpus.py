"""Rich text of strangers: what packages in the public registries have for fixtures. Fetched once, never committed.

Packages come by the ordinary client, `pip download`, without being built or run. Bodies are taken out of files and out
of the string and dict literals of test modules. Without a network nothing is fetched, and there is nothing to measure.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from callsheet.errors import UsageError
from callsheet.richtext.storage.xml import parse_fragment

PACKAGES = [
    "markdown-to-confluence==0.6.5",
    "cfxmark==0.6.1",
    "confluence-markdown-exporter==5.5.0",
    "mcp-atlassian==0.23.1",
    "adflux==0.3.1",
    "adf-bridge==0.1.3",
    "pyadf==0.5.2",
    "atlas-doc-parser==1.0.1",
    "atlassian-cli==0.12.0",
    "atlassian-skills==0.4.4",
    "confpub-cli==1.18.0",
    "conjira-cli==0.3.0",
    "docspan==0.8.7",
    "kb2md==0.3.0",
]
DEFINITIONS = Path(__file__).parent.parent / "definitions" / "suite" / "richtext.toml"
NODES = tomllib.loads(DEFINITIONS.read_text(encoding="utf-8"))["node"]
SHORTEST = 20  # characters of a body that is worth anything


class Body(NamedTuple):
    """A storage body (text) or a document (a dict), and where it was found."""

    where: str
    value: Any


def folder() -> Path:
    base = os.environ.get("CALLSHEET_CORPUS") or Path.home() / ".cache" / "callsheet-corpus"
    return Path(base)


def fetch() -> list[Path]:
    """The packages' folders; those that cannot be had are left out."""
    found = []
    for package in PACKAGES:
        target = folder() / package.replace("==", "-")
        if not target.exists():
            _download(package, target)
        if target.exists():
            found.append(target)
    return found


def _download(package: str, target: Path) -> None:
    name = package.partition("==")[0]
    waiting = target.with_suffix(".part")
    waiting.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name]
    done = subprocess.run([*command, "--dest", str(waiting), package], check=False, capture_output=True)
    if done.returncode:
        print(f"not fetched: {package}", file=sys.stderr)
        return
    for archive in [*waiting.glob("*.tar.gz"), *waiting.glob("*.zip")]:
        if archive.suffix == ".zip":
            zipfile.ZipFile(archive).extractall(waiting)
        else:
            with tarfile.open(archive) as opened:
                opened.extractall(waiting, filter="data")
        archive.unlink()
    waiting.rename(target)


def storage() -> list[Body]:
    """Bodies in storage format, each once."""
    found: dict[str, Body] = {}
    for where, text in _texts():
        if (
            len(text) >= SHORTEST
            and text.lstrip()[:1] == "<"
            and ("<ac:" in text or "<p>" in text or "<h1>" in text)
            and _well_formed(text)
        ):
            found.setdefault(text, Body(where, text))
    return list(found.values())


def documents() -> list[Body]:
    """Documents, each once."""
    found: dict[str, Body] = {}
    for root in fetch():
        for path in sorted(root.rglob("*.py")):
            for node in ast.walk(_tree(path)):
                if isinstance(node, ast.Dict):
                    _document(_literal(node), f"{path.name}:{node.lineno}", found)
        for path in sorted(root.rglob("*.json")):
            _document(_json(path.read_text(encoding="utf-8", errors="replace")), path.name, found)
    for where, text in _texts():
        if '"doc"' in text:
            _document(_json(text), where, found)
    return list(found.values())


def _document(value: Any, where: str, found: dict[str, Body]) -> None:
    if isinstance(value, dict) and value.get("type") == "doc" and value.get("content"):
        found.setdefault(json.dumps(value, sort_keys=True), Body(where, value))


def _texts() -> Iterator[tuple[str, str]]:
    for root in fetch():
        for path in sorted([*root.rglob("*.xml"), *root.rglob("*.xhtml"), *root.rglob("*.cfx.example")]):
            text = path.read_text(encoding="utf-8", errors="replace")
            yield path.name, text
            yield path.name, text.partition("<root>")[2].rpartition("</root>")[0]
        for path in sorted(root.rglob("*.py")):
            for node in ast.walk(_tree(path)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield f"{path.name}:{node.lineno}", node.value


def _tree(path: Path) -> ast.AST:
    try:
        return ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _literal(node: ast.AST) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _well_formed(text: str) -> bool:
    try:
        return any(child.strip() if isinstance(child, str) else True for child in parse_fragment(text).children)
    except UsageError:
        return False
