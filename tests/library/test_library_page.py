"""The page about the library: its scripts run as they stand there, and print what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from support.canary import SITES
from support.places import ROOT
from support.simulated import serving

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n+(?:```text\n(.*?)^```)?", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_scripts_print_what_the_page_shows(home: Path) -> None:
    assert len(BLOCKS) >= 6
    names: dict[str, object] = {"__name__": "__main__"}
    with serving() as url:
        SITES.add(url)
        home.mkdir()
        profile = f'[sites.sandbox]\nbase_url = "{url}"\ndeployment = "cloud"\nmethod = "none"\n'
        (home / "profiles.toml").write_text(profile, encoding="utf-8")
        for script, shown in BLOCKS:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(script, names)
            assert printed.getvalue() == shown, script
