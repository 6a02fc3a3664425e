"""A plan in a file: what was reviewed is what is applied, or nothing is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import Conflict, UsageError
from ...files import open_regular
from ...jsontext import JSONError, dump_json, parse_json
from ...written import output_file
from .change import PlannedChange

_VERSION = 1
_LARGEST = 256 << 20
_MOST_TOLD = 10


def write_plan(path: str, changes: Sequence[PlannedChange], site: str, given: Mapping[str, Any]) -> None:
    """`given` are the values that another run has to have to come to the same plan."""
    found = {"plan": _VERSION, "site": site, "given": dict(given), "changes": _rows(changes)}
    with output_file(path) as file:
        file.write(f"{dump_json(found, indent=1)}\n".encode())


def read_plan(path: str, site: str) -> dict[str, Any]:
    """Raises `UsageError` for a file that is none, or is about another site."""
    try:
        with open_regular(path) as file:
            found = parse_json(file.read(_LARGEST))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except JSONError as error:
        raise UsageError(f"{path} is not a plan: {error}") from None
    kinds = {"plan": int, "given": dict, "changes": list}
    is_plan = isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in kinds.items())
    if not is_plan or found["plan"] != _VERSION:
        raise UsageError(f"{path} is not a plan", hint="`plan DIR --out FILE` writes one")
    if found.get("site") != site:
        raise UsageError(f"{path} is a plan for {found.get('site')}, and this is {site}")
    return dict(found)


def refuse_another(plan: Mapping[str, Any], changes: Sequence[PlannedChange]) -> None:
    """Raises `Conflict` naming what is not as it was planned: files or site were changed since."""
    was, now = _by_path(plan["changes"]), _by_path(_rows(changes))
    other = [path for path in dict.fromkeys((*was, *now)) if was.get(path) != now.get(path)]
    if other:
        more = [f"and {len(other) - _MOST_TOLD} more"] if len(other) > _MOST_TOLD else []
        details = [f"{path}: {_differing(was.get(path), now.get(path))}" for path in other[:_MOST_TOLD]]
        hint = "nothing was sent; make a new plan, and look at it"
        raise Conflict("the site or the files were changed since the plan was made", details=details + more, hint=hint)


def _rows(changes: Sequence[PlannedChange]) -> list[dict[str, Any]]:
    rows = [change.row() for change in changes if change.conflict is not None or change.verb != "keep"]
    return list(parse_json(dump_json(rows)))


def _by_path(rows: Sequence[Any]) -> dict[str, Any]:
    return {str(row.get("path")): row for row in rows if isinstance(row, dict)}


def _differing(was: Any, now: Any) -> str:
    if was is None:
        return "it was not in the plan"
    if now is None:
        return "there is nothing to do any more"
    names = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
    return f"another {', '.join(names)}"
