"""Every format, filter and choice of columns, as data."""

from __future__ import annotations

import io
import time
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from callsheet import jsontext
from callsheet.errors import CallsheetError
from callsheet.output import Output
from callsheet.output.columns import FormatContext, column_format
from callsheet.registry import COLUMN_FORMATS
from support.places import CASES

OUTPUTS = CASES / "output"
PRINTED = tomllib.loads((OUTPUTS / "printed.toml").read_text(encoding="utf-8"))
CELLS = tomllib.loads((OUTPUTS / "formats.toml").read_text(encoding="utf-8"))["case"]
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()
TEXT = "displayName || name || title"


@pytest.fixture(autouse=True)
def two_hours_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("the zone cannot be set here")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "EET-2")
        time.tzset()
        yield
    time.tzset()


def printed(case: dict) -> str:
    stream = io.StringIO()
    options = {key: case[key] for key in ("columns", "jq", "query", "width") if key in case}
    output = Output(
        case.get("format", "table"),
        stream=stream,
        view=PRINTED["view"] if case.get("view") else None,
        id="key || id || name",
        text=TEXT,
        clock=lambda: NOW,
        **options,
    )
    if "value" in case:
        output.print_one(jsontext.parse_json(case["value"]))
    elif "one" in case:
        output.print_one(jsontext.parse_json(PRINTED["items"][case["items"]])[case["one"]])
    else:
        output.print_items(iter(jsontext.parse_json(PRINTED["items"][case["items"]])))
    return stream.getvalue()


@pytest.mark.parametrize("case", PRINTED["case"], ids=lambda case: case["name"])
def test_printed(case: dict) -> None:
    if "error" in case:
        with pytest.raises(CallsheetError) as caught:
            printed(case)
        assert caught.value.message.startswith(case["error"])
        assert caught.value.exit_code == case["exit"]
    else:
        assert printed(case) == case["out"]


@pytest.mark.parametrize("case", CELLS, ids=lambda case: case["format"])
def test_cells(case: dict) -> None:
    form = column_format(None if case["format"] == "plain" else case["format"])
    context = FormatContext(
        text=TEXT,
        clock=lambda: NOW,
        rich=lambda _, name: f"{name} as text\nand more" if "line" in case["format"] else f"{name} as text",
    )
    found = [[value, form(value, context)] for value, _ in case["cells"]]
    assert found == case["cells"]


def test_every_format_has_cells() -> None:
    assert {case["format"] for case in CELLS} == {*COLUMN_FORMATS, "plain"}


@pytest.mark.parametrize("name", sorted(COLUMN_FORMATS))
@pytest.mark.parametrize(
    "value", [None, "", 0, -1.5, True, [], {}, [None], {"name": None}, "x\ud800", 10**30, "9" * 400]
)
def test_no_value_is_an_error_in_any_format(name: str, value: object) -> None:
    assert isinstance(column_format(name)(value, FormatContext(text=TEXT)), str)
    if value is None:
        assert column_format(name)(value, FormatContext()) == ""
