"""`op` and `api` from the command line to the socket and back; the cases are `cases/op`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.cases import environment, load_cases, run_case, run_program

CASES = Path(__file__).parent / "cases" / "op"


@pytest.mark.parametrize("case", load_cases(CASES))
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    run_case(case, tmp_path)


def offline(tmp_path: Path, *argv: str) -> tuple[int, str, str]:
    done = run_program("suite", list(argv), environment(tmp_path / "home", "http://127.0.0.1:9"))
    return done.exit, done.stdout.decode(), done.stderr


def test_all_operations_are_listed(tmp_path: Path) -> None:
    code, out, err = offline(tmp_path, "op", "list", "-o", "id")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == len(set(out.splitlines())) == 1143


def test_every_operation_can_be_described(tmp_path: Path) -> None:
    """In one process, since a description is asked for by id only."""
    import io

    from callsheet.context import Context, Streams
    from callsheet.describe import describe

    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    context = Context("suite", environment(tmp_path / "home", ""), streams)
    for id in context.catalog.ids("operation"):
        text = describe(context, id, context.catalog.get("operation", id))
        assert text.splitlines()[-1].startswith(f"  suite op call {id}")
        assert f"\n\n{context.catalog.get('operation', id)['http']}\n" in text
    context.close()


def test_skeletons_are_json_that_the_operation_accepts(tmp_path: Path) -> None:
    code, out, _ = offline(tmp_path, "op", "skeleton", "createIssue")
    assert code == 0
    (tmp_path / "body.json").write_text(out, encoding="utf-8")
    code, out, err = offline(tmp_path, "op", "call", "createIssue", "-d", f"@{tmp_path / 'body.json'}", "--dry-run")
    assert (code, err) == (0, "")
    assert out.startswith("curl -X POST http://127.0.0.1:9/rest/api/3/issue ")
