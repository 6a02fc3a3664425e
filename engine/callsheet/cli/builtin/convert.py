"""`convert`: rich text from standard input to standard output."""

from __future__ import annotations

from typing import Any

from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, UsageError
from ...jsontext import dump_json, parse_json
from ...richtext import convert_rich_text as converted


def convert_text(context: Context, values: ParameterValues) -> None:
    source, target = values["from"], values["to"]
    arguments: dict[str, Any] = {
        "nodes": context.catalog.nodes.all(),
        "lossless": bool(values.get("lossless")),
        "options": {"soft_break": values.get("soft-break") or "space", "cards": bool(values.get("cards"))},
    }
    if values.get("batch"):
        _convert_lines(context, source, target, arguments)
        return
    done = converted(_input_text(context), source, target, **arguments)
    for loss in done.losses:
        context.note(loss)
    words = dump_json(done.value, indent=2) if target == "adf" else done.value
    context.streams.out.write(words if words.endswith("\n") or not words else words + "\n")


def _input_text(context: Context) -> str:
    given = context.read_input()
    try:
        return given.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = given.count(b"\n", 0, error.start) + 1
        column = error.start - given.rfind(b"\n", 0, error.start)
        raise UsageError(f"standard input is not UTF-8: {line}:{column}") from None


def _convert_lines(context: Context, source: str, target: str, arguments: dict[str, Any]) -> None:
    """One JSON value a line in, one a line out; a line that cannot be converted does not end the others."""
    for number, line in enumerate(context.input_lines(), 1):
        if not line.strip():
            continue
        try:
            done = converted(_line_value(line, source), source, target, **arguments)
        except CallsheetError as error:
            result: Any = {"error": error.message}
        else:
            result = done.value
            for loss in done.losses:
                context.note(f"line {number}: {loss}")
        context.streams.out.write(dump_json(result) + "\n")
        context.streams.out.flush()


def _line_value(line: str, source: str) -> Any:
    try:
        value = parse_json(line)
    except RecursionError:
        raise UsageError("nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"not JSON: {error}") from None
    if source != "adf" and not isinstance(value, str):
        raise UsageError(f"expected a JSON string with {source}")
    return value
