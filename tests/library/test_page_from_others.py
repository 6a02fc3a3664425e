"""The page for those who come from other libraries: each call on its right side works as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import callsheet
from support.canary import SITES, TOKEN
from support.places import ROOT
from support.simulated import serving

PAGE = (ROOT / "docs" / "how-to" / "from-python-libraries.md").read_text(encoding="utf-8")
CALLS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as url:
        SITES.add(url)
        yield url


def test_there_are_thirty_calls_and_more() -> None:
    assert len(CALLS) >= 30
    assert len({ours for _, ours in CALLS}) == len(CALLS)


@pytest.mark.slow
def test_every_call_works_in_the_order_of_the_page(address: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("swept", encoding="utf-8")
    failed = {}
    with callsheet.open("suite", base_url=address, email="robin@example.org", token=TOKEN) as suite:
        for _, ours in CALLS:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(ours, {"suite": suite})
            except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
                failed[ours] = f"{type(error).__name__}: {error}"
        assert failed == {}
        issue = suite.issues.get("DEMO-2")["fields"]
        assert (issue["summary"], issue["status"]["name"]) == ("Sweep the stage", "Done")
        assert sorted(issue["labels"]) == ["broom", "stage", "urgent"]
        with pytest.raises(callsheet.NotFound):
            suite.issues.get("DEMO-4")
