"""Which files of other programs a definition may name: below a project's folder, and of the home only a shipped one."""

from __future__ import annotations

from collections.abc import Iterator

from ...paths import stays_below
from ..as_shipped import shipped_table
from ..definition import Definition, Definitions
from ..locate import Path
from .problem import Finding, Findings


def host_findings(definitions: Definitions, host: Definition) -> Findings:
    """A shared definition names no file of the home, and says nothing of what is written into one."""
    del definitions
    for at, path in _below(host):
        if not stays_below(path):
            yield Finding(at, f"{path!r} has to stay below the directory: names with / between them, none of them ..")
    own = [laid for file, laid in zip(host.files, host.laid, strict=True) if not file.shipped]
    if own and len(own) < len(host.files):
        if host.table.get("servers") != shipped_table(host).get("servers"):  # what was shown may be pasted back
            text = "of a host that comes with the program it stays as it is; define one under another name"
            yield Finding(("servers",), text)
    elif own and "user" in host.table.get("servers", {}):
        text = "only definitions that come with the program name files of the home directory; `project` names others"
        yield Finding(("servers", "user"), text)


def _below(host: Definition) -> Iterator[tuple[Path, str]]:
    for place, file in enumerate(host.table.get("guard", {}).get("files", ())):
        yield ("guard", "files", place, "path"), file["path"]
    for place, path in enumerate(host.table.get("servers", {}).get("project", ())):
        yield ("servers", "project", place), path
