"""How old the things of a new site are says nothing of the hour or the zone in which it was made."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Self

import pytest

from callsheet.language import functions as dates
from callsheet.sandbox import simulated_site as sandbox_site
from callsheet.sandbox.search import parse_item_time
from support.simulated import site

_DAY = datetime(2026, 11, 24, tzinfo=UTC)
_HOURS = (0.2, 9.4, 9.6, 15.0, 23.9)


@pytest.mark.skipif(sys.platform == "win32", reason="has no time.tzset")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def test_ages_do_not_depend_on_when_a_site_was_made(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        usual, *others = (_ages_of_issues(_DAY + timedelta(hours=hours), monkeypatch) for hours in _HOURS)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert usual["DEMO-3"] == (9.0, 51 / 24)
    assert all(other == usual for other in others)


def _ages_of_issues(moment: datetime, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, float]]:
    """Days since each was made and changed, where it is `moment` now."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(moment.timestamp(), tz)

    for module in (dates, sandbox_site):
        monkeypatch.setattr(module, "datetime", Clock)
    with closing(site()) as made:
        issues = list(made.state.items("issue"))
    assert issues

    def days_since(text: str) -> float:
        return round((moment - parse_item_time(text)).total_seconds() / 86400, 3)

    return {issue["key"]: (days_since(issue["created"]), days_since(issue["updated"])) for issue in issues}
