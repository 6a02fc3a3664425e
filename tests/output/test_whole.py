"""What identifies an item is not cut on a narrow terminal while something else can be."""

from __future__ import annotations

import io

from callsheet.output import Output
from callsheet.output.table import table_lines

ROW = ["moveIssuesToSprintAndRank", "/rest/some/long/path/of/an/operation", "Move issues to sprint and rank"]


def test_other_columns_make_room() -> None:
    (line,) = table_lines(None, [ROW], whole=[True, False, False], width=60)
    assert line.startswith("moveIssuesToSprintAndRank  /rest/")
    assert len(line.rstrip("\n")) <= 60


def test_where_they_cannot_the_last_ones_are_left_out() -> None:
    (line,) = table_lines(None, [ROW], whole=[True, False, False], width=36)
    assert line == "moveIssuesToSprintAndRank  /rest/so…\n"
    (line,) = table_lines(None, [ROW], whole=[True, False, False], width=20)
    assert line == "moveIssuesToSprintAndRank\n"


def test_the_column_that_a_view_calls_its_id_is_one() -> None:
    view = {"id": "key", "columns": [{"name": "TITLE", "value": "title"}, {"name": "KEY", "value": "key"}]}
    stream = io.StringIO()
    Output("table", stream=stream, view=view, width=30).print_items([{"title": "t" * 40, "key": "k" * 18}])  # type: ignore[arg-type]
    assert stream.getvalue().splitlines()[1] == "t" * 9 + "…  " + "k" * 18
