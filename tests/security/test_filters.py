"""`--jq`, `--query` and `--template` see the result, and nothing else: no variable of the environment, no file."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import jq
import pytest

from callsheet.errors import CallsheetError
from callsheet.language.functions import Functions
from callsheet.output import Output

VARIABLE = "SUITE_TOKEN"
SECRET = "s3cret-canary"
NAMES = sorted(jq.compile("builtins").input_value(None).first())

JQ = [
    "env",
    "$ENV",
    f"env.{VARIABLE}",
    f"$ENV.{VARIABLE}",
    f'env["{VARIABLE}"]',
    f'"\\(env.{VARIABLE})"',
    "[env, $ENV] | tojson",
    "{$ENV}",
    "env as $e | $e",
    "$ENV as {a: $x} | $ENV",
    ". as [$x] ?// $x | $ENV",
    "def f: env; f",
    "def f(g): g; f($ENV)",
    "def f($a): $ENV; f(1)",
    "reduce 1 as $i (env; .)",
    "foreach 1 as $i ($ENV; .)",
    "try error(env) catch .",
    "error(env | tojson)",
    "label $out | env, break $out",
    "path(env)",
    '@text "\\(env)", @json "\\($ENV)", @sh "\\(env | to_entries[].value)"',
    "1) | env | (2",
    "1) | $ENV | tojson, (2",
    "# a remark\nenv",
    "getpath([]) , env",
    "input_filename, $__loc__, $ENV.PATH",
    'import "planted" as $d; $d',
    'import "planted" as $d; $d::d',
    'import "planted" as m; m::leak',
    'import "./planted" as $d {"search": "."}; $d',
    'include "planted"; leak',
    'module {}; import "planted" as $d; $d',
    '# a remark\nimport "planted" as $d; $d',
    '"planted" | modulemeta',
]


@pytest.fixture(autouse=True)
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.json").write_text(f'"{SECRET}"')
    (tmp_path / "planted.jq").write_text(f'module {{"leak": "{SECRET}"}}; def leak: "{SECRET}";')
    (tmp_path / "planted").write_text(SECRET)


def shown(capfd: pytest.CaptureFixture[str], **filters: str) -> str:
    """All that comes out of a filter: results, the error, and what a library writes by itself."""
    stream = io.StringIO()
    try:
        Output("json", stream=stream, **filters).print_one(["planted", VARIABLE, {"a": 1}])
    except CallsheetError as error:
        stream.write(f"{error.message} {error.hint} {error.details}")
    return stream.getvalue() + "".join(capfd.readouterr())


@pytest.mark.parametrize("program", JQ)
def test_no_jq_program_sees_the_environment_or_a_file(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert SECRET not in shown(capfd, jq=program)


@pytest.mark.parametrize("names", [NAMES[start::6] for start in range(6)], ids=lambda names: names[0])
def test_no_function_of_jq_does(names: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """Each that this version of jq has, with names of what is planted as input and in every argument."""
    calls = []
    for name, _, arity in (each.partition("/") for each in names):
        for value in ('"planted"', f'"{VARIABLE}"', ".[0:1]", "1"):
            call = f"{name}({'; '.join([value] * int(arity))})" if arity != "0" else name
            calls.append(f"[limit(3; (.[], .) | {call})?]")
    said = shown(capfd, jq=", ".join(calls))
    assert "--jq" not in said  # it compiled
    assert SECRET not in said


@pytest.mark.parametrize(
    "program", ["halt", "halt_error", "halt_error(3)", ".[0] | halt_error", "1, halt", "def f: halt; f"]
)
def test_what_would_end_jq_is_an_error(program: str) -> None:
    """jq ends its own process there; here nothing would be printed, with exit code 0."""
    with pytest.raises(CallsheetError, match="--jq: "):
        Output("json", stream=io.StringIO(), jq=program).print_one(["planted"])


def test_jq_could_see_both() -> None:
    """What this is about: without what is put before a program, both come out."""
    assert jq.compile(f"env.{VARIABLE}").input_value(None).first() == SECRET
    assert jq.compile('import "planted" as $d {"search": "./"}; $d').input_value(None).first() == [SECRET]


@pytest.mark.parametrize("name", sorted(Functions.FUNCTION_TABLE))
def test_no_function_of_expressions_does(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for count in range(4):
        for arguments in itertools.product(("'planted'", f"'{VARIABLE}'", "@"), repeat=count):
            call = f"{name}({', '.join(arguments)})"
            assert SECRET not in shown(capfd, query=call)
            assert SECRET not in shown(capfd, query=f"[?{call}]")
            assert SECRET not in shown(capfd, template=f"{{{call}}}")


@pytest.mark.parametrize(
    "path", ["env", f"env.{VARIABLE}", f"${VARIABLE}", "$env", "@.__class__", "__globals__", "[0].__dir__"]
)
def test_no_path_leads_to_them(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert SECRET not in shown(capfd, query=path)
    assert SECRET not in shown(capfd, template=f"{{{path}}}")
