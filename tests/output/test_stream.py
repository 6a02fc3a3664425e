"""Standard output as a pipe that ends, a full disk, a terminal, an old console; and how much memory it takes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callsheet.output import Output
from callsheet.output import stream as stream_module
from support.memory import call_alone, peak_of

PROGRAM = """
import sys
from callsheet.errors import CallsheetError
from callsheet.output import Output
from callsheet.output.clean_text import describe_error
def items(count):
    for number in range(count):
        yield {"id": number, "name": "é" * 40}
    print("exhausted", file=sys.stderr)
try:
    Output(sys.argv[1], stream=sys.stdout, id="id").print_items(items(int(sys.argv[2])))
except CallsheetError as error:
    print(describe_error(error), file=sys.stderr)
    sys.exit(error.exit_code)
except BrokenPipeError:
    print("broken", file=sys.stderr)
"""


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stderr=subprocess.PIPE, **options)


@pytest.mark.parametrize("form", ["ndjson", "json", "csv", "markdown", "id", "yaml"])
def test_a_reader_that_leaves_stops_the_items(form: str) -> None:
    with start(form, "1000000000", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(5)
        process.stdout.close()
        assert process.stderr is not None
        assert b"exhausted" not in process.stderr.read()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("form", ["table", "json", "ndjson"])
def test_a_full_disk_is_an_error(form: str) -> None:
    with open("/dev/full", "wb") as full, start(form, "5", stdout=full) as process:
        assert process.stderr is not None
        assert b"error: cannot write the result: No space left on device" in process.stderr.read()
    assert process.returncode in (1, 120)  # 120: the interpreter tries once more and says so


@pytest.mark.skipif(os.name == "nt", reason="descriptors are inherited differently there")
def test_a_closed_standard_output_is_no_crash() -> None:
    command = ["sh", "-c", '"$0" -c "$1" json 3 >&-', sys.executable, PROGRAM]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


def test_a_pipe_gets_utf_8_whatever_the_locale() -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    with start("json", "1", stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.read().decode("utf-8"))[0]["name"] == "é" * 40


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        return self.bytes.getvalue().decode(self.encoding)


def on_terminal(form: str, items: list[Any], **options: Any) -> str:
    terminal = options.pop("terminal", None) or Terminal()
    Output(form, stream=terminal, **options).print_items(items)
    return terminal.text()


VIEW: Any = {"columns": [{"name": "A", "value": "a", "max": 6}, {"name": "B", "value": "b"}]}


def test_an_empty_list_is_told_on_a_terminal_and_is_a_header_in_a_pipe() -> None:
    assert on_terminal("table", [], view=VIEW) == "no results\n"
    assert on_terminal("csv", [], view=VIEW).split() == ["A,B"]
    piped = io.StringIO()
    Output("table", stream=piped, view=VIEW).print_items([])
    assert piped.getvalue() == "A  B\n"


def test_a_terminal_gets_a_bold_header_and_cut_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    items = [{"a": "x" * 30, "b": "y" * 30}]
    header, row = on_terminal("table", items, view=VIEW).splitlines()
    assert header == "\x1b[1mA\x1b[0m       \x1b[1mB\x1b[0m"
    assert row == "xxxxx…  yyyyyyyyyyy…"
    assert on_terminal("table", items, view=VIEW, color=False).splitlines()[0] == "A       B"
    monkeypatch.setenv("TERM", "dumb")
    assert on_terminal("table", items, view=VIEW).splitlines()[0] == "A       B"


def test_a_pipe_is_neither_cut_nor_bold() -> None:
    stream = io.StringIO()
    Output("table", stream=stream, view=VIEW).print_items([{"a": "x" * 30, "b": "y" * 300}])
    assert stream.getvalue() == f"{'A':30}  B\n{'x' * 30}  {'y' * 300}\n"


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml"])
def test_what_a_terminal_acts_on_is_escaped_in_data_formats_and_kept_in_a_pipe(form: str) -> None:
    import yaml

    items = [{"a": "\x9b31m\u202e\x7f\x1b[1mé", "\u2066k": "\x85"}]
    shown, piped = on_terminal(form, items), io.StringIO()
    Output(form, stream=piped).print_items(items)
    assert not set(shown) & set("\x9b\u202e\x7f\x1b\u2066\x85")
    assert "é" in shown
    for text in (shown, piped.getvalue()):
        read = yaml.safe_load(text) if form == "yaml" else json.loads(text)
        assert read in (items, items[0])
    assert form == "yaml" or "\u202e" in piped.getvalue()


def test_text_out_of_jq_is_harmless_on_a_terminal_and_whole_in_a_pipe() -> None:
    items = ["\x1b[31mred\nline\u202e"]
    assert on_terminal("table", items, jq=".[]") == "red\nline\n"
    piped = io.StringIO()
    Output("table", stream=piped, jq=".[]").print_items(items)
    assert piped.getvalue() == "\x1b[31mred\nline\u202e\n"


def test_an_old_console_shows_a_mark_for_what_it_lacks() -> None:
    assert "?" in on_terminal("table", [{"a": "日本"}], terminal=Terminal("cp1252"))


@pytest.mark.skipif(os.name == "nt", reason="the pager is another one there")
def test_long_output_goes_through_the_pager_only_on_a_terminal(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    pager, shown = tmp_path / "pager", tmp_path / "shown"
    pager.write_text(f"#!/bin/sh\ncat > {shown}\n", encoding="utf-8")
    pager.chmod(0o755)
    for count, paged in ((3, False), (60, True)):
        controller, worker = pty.openpty()
        environ = {**os.environ, "PAGER": str(pager), "LINES": "24", "COLUMNS": "80"}
        with start("id", str(count), stdout=worker, stdin=worker, env=environ) as process:
            os.close(worker)
            process.wait()
            assert process.returncode == 0, process.stderr.read() if process.stderr else ""
        os.close(controller)
        assert shown.exists() == paged
    assert shown.read_text(encoding="utf-8").split() == [str(number) for number in range(60)]


def test_each_line_of_ndjson_is_written_before_the_next_item_is_asked_for() -> None:
    stream = io.StringIO()
    seen = []

    def items() -> Any:
        for number in range(3):
            seen.append(stream.getvalue().count("\n"))
            yield number

    Output("ndjson", stream=stream).print_items(items())
    assert seen == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ndjson", "json", "csv", "markdown", "id", "yaml"])
def test_memory_is_flat(form: str) -> None:
    few, many = call_alone("output.test_stream", "peaks_of_printing", form, [200, 2000])
    assert many < few + 100_000


def peaks_of_printing(form: str, counts: list[int]) -> list[int]:
    """Bytes that printing so many items takes, at most."""

    class Sink(io.StringIO):
        def write(self, text: str) -> int:
            return len(text)

    def print_items(count: int) -> None:
        items = ({"id": number, "name": "x" * 500} for number in range(count))
        Output(form, stream=Sink(), id="id").print_items(items)

    print_items(10)  # what is made once
    return [peak_of(partial(print_items, count)) for count in counts]


def test_the_size_of_a_terminal_that_is_none_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
    assert stream_module.terminal_size(io.StringIO()) == (80, 24)


def test_a_stream_closed_meanwhile_is_no_crash() -> None:
    stream = io.StringIO()
    output = Output("json", stream=stream)
    stream.close()
    output.print_one({"a": 1})


def test_importing_errors_and_formats_loads_nothing_of_the_printing() -> None:
    program = "import sys, callsheet.output.clean_text, callsheet.output.columns; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"callsheet.output.printer", "jmespath", "jq", "wcwidth", "yaml", "datetime"} & set(found)


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "json", "ndjson", "id"])
def test_plain_output_loads_no_library(form: str) -> None:
    program = f"""
import sys
from callsheet.output import Output
view = {{"id": "a.b", "columns": [{{"name": "A", "value": "a.b"}}]}}
Output({form!r}, stream=sys.stdout, view=view).print_items([{{"a": {{"b": "x"}}}}])
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"jmespath", "jq", "wcwidth", "yaml"} & set(done.stderr.split())


@pytest.mark.skipif(os.name == "nt", reason="written for a POSIX shell")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('"$0" -m callsheet suite op list -o csv | head -1 > /dev/null; exit ${PIPESTATUS[0]}', 0),
        ('"$0" -m callsheet suite op list >&-', 0),
        ('"$0" -m callsheet suite version >&-', 0),
        ('"$0" -m callsheet suite op lst 2>&-', 2),
    ],
)
def test_a_program_ends_quietly_where_nobody_reads(line: str, code: int, tmp_path: Path, cache: Path) -> None:
    environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache)}
    command = ["bash", "-c", line, sys.executable]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("form", ["table", "json", "ndjson", "yaml", "csv", "id"])
@pytest.mark.parametrize("jq", [None, ".[]?"])
def test_half_a_surrogate_pair_can_be_written_everywhere(form: str, jq: str | None) -> None:
    stream = io.StringIO()
    Output(form, stream=stream, id="a", jq=jq).print_items([{"a": "x\ud800y\\ud800"}])
    assert stream.getvalue().encode("utf-8")
