"""Whether the constants of steps can be what the step makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ...registry import EDITED
from ..locate import Path

if TYPE_CHECKING:
    from ..shape.steps import Action, Edit

Problems = Iterator[tuple[Any, ...]]  # as in a `Finding`


def format_problems(edit: Edit, at: Path) -> Problems:
    name = edit["format"]
    if "{" not in name and name not in EDITED:
        yield (*at, "format"), f"no rich-text format {name!r}{did_you_mean(name, EDITED)}"


def value_problems(step: Action, at: Path) -> Problems:
    """How much is read, what is laid over the body, which files are sent."""
    limit = step.get("limit", 1)
    if not _is_template(limit) and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        yield (*at, "limit"), f"expected a whole number of at least 1, not {limit!r}"
    for place, layer in enumerate(step.get("over", ())):
        if not _is_template(layer) and not isinstance(layer, dict):
            yield (*at, "over", place), f"expected a table, not {layer!r}"
    files: Any = step.get("files", [])
    for file in files if isinstance(files, list) else [files]:
        if not isinstance(file, str):
            yield (*at, "files"), f"expected a path or a list of paths, not {file!r}"


def _is_template(value: Any) -> bool:
    return isinstance(value, str) and "{" in value
