"""What an operator reads: lines that no value of an event can break or forge."""

from __future__ import annotations

import contextlib
import re
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.telemetry.log import Log, log_field
from callsheet.listener.verify.payload import Rejected, parse_exact, parse_payload


class Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def write_line(self, line: str) -> None:
        self.lines.append(line)


def event(**changes: Any) -> Any:
    given = {
        "type": "paid", "id": "7", "time": "2026-01-31T09:00:00Z", "text": b' {"a":1.10}\r\n',
        "source": SimpleNamespace(name="lms"),
        "log_fields": None,
    }  # fmt: skip
    return SimpleNamespace(**{**given, **changes})


STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("a.B_9:/@+-", "a.B_9:/@+-"),
        (7, "7"),
        ("", '""'),
        ("a b", '"a b"'),
        ("a\n", '"a\\n"'),
        ("ü", '"ü"'),
        ("x" * 200, "x" * 200),
        ("x" * 201, '"' + "x" * 201 + '"'),
        ("x" * 401, '"' + "x" * 400 + '"'),
    ],
)
def test_a_field_is_one_word_or_a_json_text(value: Any, shown: str) -> None:
    assert log_field(value) == shown


def test_one_line_about_a_delivery() -> None:
    err = Lines()
    log = Log(err, None)  # type: ignore[arg-type]
    log.log_delivery(200, "accepted", "1.1.1.1", event(id=None), 0.01234)
    log.log_delivery(500, "failed", "1.1.1.1", event(type="a b"), 2.0, "r/1: no")
    log.log_rejection(401, "refused", "unix", "no signature")
    log.write_note("a\x1bb")
    patterns = [
        r"200 accepted source=lms type=paid id=- client=1\.1\.1\.1 duration_ms=12\.3",
        r'500 failed source=lms type="a b" id=7 client=1\.1\.1\.1 duration_ms=2000\.0 reason="r/1: no"',
        r'401 refused client=unix reason="no signature"',
        r"a\\u001bb",
    ]
    for line, pattern in zip(err.lines, patterns, strict=True):
        assert re.fullmatch(f"{STAMP} {pattern}", line), line


def test_the_stamp_is_of_its_own_second(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([1_800_000_000.0625, 1_800_000_000.5, 1_800_000_001.9996])
    monkeypatch.setattr("time.time", lambda: next(moments))
    log = Log(Lines(), None)  # type: ignore[arg-type]
    assert [log.time_text() for _ in range(3)] == [
        "2027-01-15T08:00:00.062Z", "2027-01-15T08:00:00.500Z", "2027-01-15T08:00:01.999Z",
    ]  # fmt: skip


def test_whole_events_take_the_place_of_lines_about_what_was_accepted() -> None:
    err, out = Lines(), Lines()
    log = Log(err, out)  # type: ignore[arg-type]
    log.log_delivery(200, "accepted", "x", event(), 0.0)
    log.log_delivery(500, "failed", "x", event(), 0.0, "no")
    log.log_event(event(), "accepted")
    log.log_event(event(id=None, type="a\nb", time=None), "duplicate")
    for outcome in ("duplicate", "filtered", "unknown_type", "handled"):
        log.log_delivery(200, outcome, "x", event(), 0.0)
    assert [line.split()[2] for line in err.lines] == ["failed", "duplicate", "filtered", "unknown_type", "handled"]
    assert out.lines[0] == 'Time: 2026-01-31T09:00:00Z\nType: paid\nID: 7\nBody: {"a":1.10}'
    time, type_, id_, note, body = out.lines[1].split("\n")
    assert re.fullmatch(r"Time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", time)
    assert (type_, note) == ("Type: a\\u000ab", "Note: duplicate")
    assert (id_, body) == ("ID: ", 'Body: {"a":1.10}')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b'{"a" : "\\u001b"}', '{"a" : "\\u001b"}'),
        ('{"a":"\u00fc\u65e5"}'.encode(), '{"a":"\u00fc\u65e5"}'),
        (b'{\n  "a": 5.50\n}', '{"a": 5.50}'),
        (b'{"a":\t1}', '{"a": 1}'),
        (b'{"a":"\x7f"}', '{"a": "\\u007f"}'),
        ('{"a":"\u202e"}'.encode(), '{"a": "\\u202e"}'),
        ('{"a":"\u2028"}'.encode(), '{"a": "\\u2028"}'),
        ('{"a":"\x9b"}'.encode(), '{"a": "\\u009b"}'),
    ],
)
def test_a_body_is_shown_as_it_was_sent_unless_it_would_break_the_line(text: bytes, shown: str) -> None:
    out = Lines()
    Log(out, out).log_event(event(text=text, payload=parse_exact(text)), "accepted")  # type: ignore[arg-type]
    assert out.lines[0].partition("\nBody: ")[2] == shown


@pytest.mark.parametrize("place", ['{"a": "%s"}', '{"%s": 1}', '{"a": [1%s]}', '%s{"a": 1}%s', '{"a": "\u00fc%s"}'])
def test_no_byte_that_a_payload_may_have_acts_where_it_is_shown(place: str) -> None:
    shown = 0
    for code in range(0x80):
        text = place.replace("%s", chr(code)).encode()
        with contextlib.suppress(Rejected):
            parse_payload(text)
            out = Lines()
            Log(out, out).log_event(event(text=text, payload=parse_exact(text)), "accepted")  # type: ignore[arg-type]
            body = out.lines[0].partition("\nBody: ")[2]
            assert body.isprintable(), (code, body)
            assert parse_exact(body.encode()) == parse_exact(text)
            shown += 1
    assert shown >= 4


def test_no_body_is_written_where_none_was_asked_for() -> None:
    err = Lines()
    Log(err, None).log_event(event(), "accepted")  # type: ignore[arg-type]
    assert err.lines == []
