"""The bar of long lists, as a person sees it who sends the list itself elsewhere."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.commands.execute import with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def page(count: int, *, last: bool = False, total: int | None = None) -> Any:
    return SimpleNamespace(items=[None] * count, next=None if last else "more", total=total)


@pytest.mark.parametrize(
    ("total", "most", "shown"), [(None, None, "5/5"), (5, None, "5/5"), (None, 5, "5/5"), (50, 5, "5/5")]
)
def test_the_bar_is_full_at_the_end(total: int | None, most: int | None, shown: str) -> None:
    err = Terminal()
    context: Any = SimpleNamespace(streams=SimpleNamespace(out=io.StringIO(), err=err), option=lambda name: None)
    pages = [page(3, total=total), page(2, last=True, total=total)]
    assert list(with_progress(context, pages, most)) == pages
    last = err.getvalue().replace("\x1b[?25h", "").rstrip().rpartition("\r")[2]
    assert f"[{'#' * 36}]  {shown}" in last


def test_one_page_has_no_bar() -> None:
    err = Terminal()
    context: Any = SimpleNamespace(streams=SimpleNamespace(out=io.StringIO(), err=err), option=lambda name: None)
    assert len(list(with_progress(context, [page(3, last=True)], None))) == 1
    assert err.getvalue() == ""
