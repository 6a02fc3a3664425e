"""Errors as a person and as a program reads them."""

from __future__ import annotations

from typing import Any

from ..errors import CallsheetError
from .clean import lines, one_line

MOST = 25  # details that a person reads; the JSON form has them all


def describe_error(error: CallsheetError, weight: str = "error") -> str:
    """`error: ...`, `  - detail` for each further fact, the trace id, `hint: ...`; no final line break."""
    described = [f"{weight}: {_indented(error.message)}"]
    described += [f"  - {one_line(detail)}" for detail in error.details[:MOST]]
    if len(error.details) > MOST:
        described.append(f"  - and {len(error.details) - MOST} more")
    if error.trace_id:
        described.append(f"  - trace id: {one_line(error.trace_id)}")
    if error.hint:
        described.append(f"hint: {_indented(error.hint)}")
    return "\n".join(described)


def _indented(text: str) -> str:
    """Lines after the first are set in, so that no text from elsewhere looks like another message."""
    return lines(text).replace("\n", "\n  ")


def error_object(error: CallsheetError) -> dict[str, Any]:
    """The JSON form; every key is always there."""
    return {
        "error": {
            "code": error.code,
            "status": error.status,
            "message": error.message,
            "details": list(error.details),
            "hint": error.hint,
            "trace_id": error.trace_id,
        }
    }
