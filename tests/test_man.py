"""Manual pages: one for each command, in which no text of a definition means anything to the formatter."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.places import ROOT


@pytest.fixture(scope="module")
def man() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))  # it imports the pages of facts beside it
    try:
        spec = importlib.util.spec_from_file_location("man", ROOT / "scripts" / "man.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


@pytest.fixture(scope="module")
def pages(man: ModuleType, cache: Path) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "86400")
        return dict(man.pages("lms", {"CALLSHEET_CACHE": str(cache)}))


def test_every_command_has_a_page_with_its_options_and_examples(pages: dict[str, str]) -> None:
    assert {"lms.1", "lms-webhook.1", "lms-webhook-listen.1", "lms-webhook-inbox-replay.1"} <= {*pages}
    page = pages["lms-webhook-listen.1"]
    assert page.startswith('.TH "LMS-WEBHOOK-LISTEN" 1 "1970-01-02"')
    assert ".B \\-\\-secret\\-file FILE\nverify signatures with" in page
    assert "lms webhook listen \\-\\-addr :8080 \\-\\-log" in page
    assert ".B \\-h, \\-\\-help" in page
    assert ".B 130\nCtrl" in pages["lms.1"]


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
def test_the_formatter_has_nothing_to_say(pages: dict[str, str], tmp_path: Path) -> None:
    for name, page in pages.items():
        (tmp_path / name).write_text(page, encoding="utf-8")
    files = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(["mandoc", "-Tlint", *files], capture_output=True, text=True, check=False)
    assert done.stdout == ""


@given(st.text())
def test_no_text_is_a_request_to_the_formatter(man: ModuleType, text: str) -> None:
    for line in man._prose(text).splitlines():
        assert not line.startswith((".", "'"))
        assert re.fullmatch(r"(?:[^\\]|\\[e&-]|\\\((?:aq|ga|ha|ti|dq))*", line)
