"""`--jq` and `--query`: another value out of the result."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import jsontext
from ..errors import CallsheetError, UsageError, did_you_mean
from ..installation import how_to_add
from ..language.template import (
    TemplateError,
    compile_expression,
    compile_template,
    expressions_in_text,
    fill_text,
    to_text,
)
from .columns import keys_of_path, leads_somewhere

Filter = Callable[[Any], Iterator[Any]]

_ESCAPES = re.compile(r"\\(?:ud[89a-f][0-9a-f]{2}|.)", re.IGNORECASE)
# What stands before every jq program: no variable of the environment, and no file. Modules can only be imported where a
# program begins, which is here. What halts would end the results without a word.
_WITHOUT_SURROUNDINGS = (
    'def env: {}; def modulemeta: error("there are no modules"); def halt: error("halt is not available"); '
    "def halt_error: error; def halt_error(f): error; {} as $ENV |\n"
)


def template_filter(template: str) -> tuple[Filter, Callable[[], None]]:
    r"""The text for each value; `\n` and `\t` in it are a line break and a tab. Raises `UsageError`.

    And what raises `CallsheetError` afterwards, where no value had what a placeholder names.
    """
    text = template.replace("\\n", "\n").replace("\\t", "\t")
    try:
        compile_template(text)
    except TemplateError as error:
        raise UsageError(f"--template: {error}") from None

    pieces = expressions_in_text(text)
    missing = {piece: path for piece in pieces if (path := keys_of_path(piece))}  # until a value has it
    keys: dict[str, Any] = {}
    unfilled: list[str] = []  # texts of the values before the first one that has anything: no results if none has
    has_found = len(missing) < len(set(pieces)) or not pieces

    def results(value: Any) -> Iterator[Any]:
        nonlocal has_found
        try:
            filled = to_text(fill_text(text, value))
        except TemplateError as error:
            raise CallsheetError(f"--template: {error}") from None
        keys.update(value if isinstance(value, dict) else ())
        for piece in [piece for piece, path in missing.items() if leads_somewhere(path, value)]:
            has_found = True
            del missing[piece]
        unfilled.append(filled)
        if has_found or not (value and isinstance(value, dict)):
            yield from unfilled
            unfilled.clear()

    def check() -> None:
        for piece in missing if keys else ():
            hint = f"there is {', '.join(keys)}"
            raise CallsheetError(f"--template: nothing has {piece!r}{did_you_mean(piece, keys)}", hint=hint)

    return results, check


def jmespath_filter(expression: str) -> Filter:
    """One result for each value; raises `UsageError` when the expression does not parse."""
    try:
        apply = compile_expression(expression)
    except TemplateError as error:
        raise UsageError(f"--query: {error}") from None

    def results(value: Any) -> Iterator[Any]:
        try:
            yield apply(value)
        except TemplateError as error:
            raise CallsheetError(f"--query: {error}") from None

    return results


def jq_filter(program: str) -> Filter:
    """Any number of results for each value; raises `UsageError` when the program does not compile.

    A program sees the value, and neither the environment, where credentials are, nor files.
    Numbers the program only passes on keep their digits. What it calculates is a double, as in jq itself.
    """
    compiled = _compile_jq(program)

    def results(value: Any) -> Iterator[Any]:
        try:
            found = iter(compiled.input_text(_without_surrogates(jsontext.dump_json(value))))
            while (text := _next_result(found)) is not None:
                yield jsontext.parse_json(text)
        except jsontext.JSONError:
            raise
        except ValueError as error:
            raise CallsheetError(f"--jq: {_reason_of_error(error)}") from None

    return results


def _next_result(results: Iterator[str]) -> str | None:
    """The next result, None at the end; jq may take for ever to find it."""
    with _interruptible_at_once():
        return next(results, None)


@contextmanager
def _interruptible_at_once() -> Iterator[None]:
    """Ctrl-C ends the process at once: code in C that loops never comes back to where Python would notice it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler in (None, signal.SIG_IGN) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _compile_jq(program: str) -> Any:
    try:
        import jq
    except ImportError:
        message = "--jq needs the Python package jq, which is not installed"
        raise UsageError(message, hint=f"{how_to_add('jq')}; or use --query with a JMESPath expression") from None
    program = program.strip() or "."
    try:
        jq.compile(_WITHOUT_SURROUNDINGS + program)  # so that a message is about what was written alone
        # The binding turns numbers into doubles; inside jq, as text, they keep their digits.
        return jq.compile(f"{_WITHOUT_SURROUNDINGS}({program}\n) | tojson")
    except ValueError as error:
        reason = re.sub(r"(?<=<top-level>, line )\d+", lambda line: str(int(line[0]) - 1), _reason_of_error(error))
        raise UsageError(f"--jq: {reason}") from None


def _reason_of_error(error: ValueError) -> str:
    text = str(error).removeprefix("jq: error: ").partition("\n")[0].rstrip(": ")
    return {"break": "there is no other input"}.get(text, text) or "error"  # `input` breaks out of what is not there


def _without_surrogates(text: str) -> str:
    """The same JSON for jq, which refuses half a surrogate pair."""
    if "\\u" not in text:
        return text
    return _ESCAPES.sub(lambda match: "\ufffd" if len(match[0]) > 2 else match[0], text)
