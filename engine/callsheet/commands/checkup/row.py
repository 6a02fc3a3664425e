"""One line of a check-up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from ...errors import CallsheetError

Status = Literal["ok", "warn", "fail", "skip"]


class Row(NamedTuple):
    """`remedy` says what to do, and is empty where nothing has to be done."""

    check: str
    status: Status
    detail: str
    remedy: str = ""


Check = Callable[[], Iterator[Row]]


def guarded_rows(name: str, check: Check) -> Iterator[Row]:
    """The rows of a check; a failure of the check itself is one of them."""
    try:
        yield from check()
    except CallsheetError as error:
        yield failed_row(name, error)
    except Exception as error:  # noqa: BLE001 - a check-up has to survive what it looks at
        yield Row(name, "fail", f"unexpected: {type(error).__name__}: {error}", "report this as a bug")


def failed_row(name: str, error: CallsheetError, status: Status = "fail") -> Row:
    detail = "; ".join([error.message, *error.details[:3]])
    return Row(name, status, detail, error.hint or "see the message")
