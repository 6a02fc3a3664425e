"""Each word that the listener's log and metrics say is in the table of the page for operators."""

from __future__ import annotations

import re

from support.places import ROOT

LISTENER = ROOT / "engine" / "callsheet" / "listener"
# Where a status, or what stands for one, is followed by its word.
SAID = re.compile(
    r'(?:refuse|on_refused|Rejected|DispatchVerdict)\((?:\d{3}|NO_EVENT|UNAVAILABLE|[A-Z]+\.status), "([a-z_]+)"'
    r'|not_genuine\("([a-z_]+)"|self\.log\.delivery\(\d{3}, "([a-z_]+)"|\((?:413|503), "([a-z_]+)"\)'
)
# Said of an event in another way, or told together with the reason of its neighbour.
ELSEWHERE = {"interrupted", "source"}


def test_every_word_of_the_log_is_explained() -> None:
    page = (ROOT / "docs" / "how-to" / "run-a-listener.md").read_text(encoding="utf-8")
    table = page.partition("## Words of the log")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`([a-z_]+?)(?:_\.\.\.)?`", table))
    said = {
        next(filter(None, found))
        for path in LISTENER.rglob("*.py")
        for found in SAID.findall(path.read_text(encoding="utf-8"))
    }
    assert {"accepted", "saturated", "token_expired", "too_many_connections", "not_tls"} <= said, "the search works"
    assert {word for word in said - explained - ELSEWHERE if word.partition("_")[0] not in explained} == set()
