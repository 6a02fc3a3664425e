"""Whether what is said of earlier versions of the language is true of this one."""

from __future__ import annotations

from ...errors import did_you_mean
from ..definition import PARTS, RESOURCE, Definition, Definitions
from ..locate import Path
from ..shape import KINDS
from .problem import Finding, Findings
from .shapes import allowed_keys


def rename_findings(definitions: Definitions, renamed: Definition) -> Findings:
    kind = renamed.id
    keys = allowed_keys(RESOURCE, {}, ())
    said: list[tuple[Path, str]] = [(("into", key), now) for key, now in renamed.table.get("into", {}).items()]
    said += [(("table",), renamed.table["table"])] if "table" in renamed.table else []
    for at, now in said:
        if now not in keys:
            yield Finding(at, f"a resource has no table {now!r}{did_you_mean(now, keys)}")
    if kind not in {*KINDS, *PARTS.values()}:
        yield Finding((), f"no kind {kind!r}{did_you_mean(kind, KINDS)}")
        return
    known = [id for of, id in definitions if of == kind]
    for part in ("ids", "gone"):
        for old in renamed.table.get(part, {}):
            if (kind, old) in definitions:
                yield Finding((part, old), f"there is a {kind} {old!r}")
    for old, now in renamed.table.get("ids", {}).items():
        if now not in known:
            yield Finding(("ids", old), f"no {kind} {now!r}{did_you_mean(now, known)}", ((kind, now),))
    keys = allowed_keys(kind, {}, ())
    for old, now in renamed.table.get("keys", {}).items():
        if "." not in old and (old in keys or now not in keys):
            text = f"{old!r} is a key of it" if old in keys else f"it has no key {now!r}{did_you_mean(now, keys)}"
            yield Finding(("keys", old), text)
