"""Text from elsewhere made harmless for a terminal, a reader of lines, a spreadsheet; errors as they are printed."""

from __future__ import annotations

from typing import Any

from ..errors import CallsheetError
from ..patterns import lazy_pattern

# ECMA-48: a control string (OSC, DCS, SOS, PM, APC) runs to BEL or ST, here at the latest to the end of its line;
# a control sequence (CSI) to its final byte; other escapes have intermediate bytes and one final byte.
_SEQUENCES = lazy_pattern(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAKS = lazy_pattern("\r\n|[\t\n\v\f\r\x85\u2028\u2029]")
_SPACES = lazy_pattern("[\t\v\f\x85\u2028\u2029]")
# What is left of C0, DEL and C1; marks that reverse or isolate the direction of text; byte-order marks; annotations.
_INVISIBLE = lazy_pattern(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]"
)
_SURROGATES = lazy_pattern("[\ud800-\udfff]")

_NUMBER = lazy_pattern(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_FORMULA = lazy_pattern("[\\s\u200b-\u200d\u2060\ufeff]*[=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]")


def one_line(text: str) -> str:
    """The text without terminal sequences and control characters; line breaks and tabs become a space."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub(" ", _SEQUENCES.sub("", text))
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub("", text))


def clean_lines(text: str) -> str:
    """The same, with the line breaks kept."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub("", _SPACES.sub(" ", text)))


def escaped_markdown(text: str) -> str:
    """One line that Markdown shows as it is."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#!|~" else letter for letter in " ".join(text.split()))


def spreadsheet_cell(text: str) -> str:
    """One line, with `'` in front where a spreadsheet would run it as a formula; numbers stay numbers."""
    cell = one_line(text)
    if text[:1] in ("\t", "\r") or (_FORMULA.match(cell) and not _NUMBER.match(cell)):
        return f"'{cell}"
    return cell


MOST = 25  # details that a person reads; the JSON form has them all


def describe_error(error: CallsheetError, weight: str = "error") -> str:
    """`error: ...`, `  - detail` for each further fact, the trace id, `hint: ...`; no final line break."""
    described = [f"{weight}: {_indent_following(error.message)}"]
    described += [f"  - {one_line(detail)}" for detail in error.details[:MOST]]
    if len(error.details) > MOST:
        described.append(f"  - and {len(error.details) - MOST} more")
    if error.trace_id:
        described.append(f"  - trace id: {one_line(error.trace_id)}")
    if error.hint:
        described.append(f"hint: {_indent_following(error.hint)}")
    return "\n".join(described)


def _indent_following(text: str) -> str:
    """Lines after the first are set in, so that no text from elsewhere looks like another message."""
    return clean_lines(text).replace("\n", "\n  ")


def error_object(error: CallsheetError) -> dict[str, Any]:
    """The JSON form; every key is always there."""
    return {
        "error": {
            "code": error.code,
            "status": error.status,
            "message": error.message,
            "details": list(error.details),
            "hint": error.hint,
            "trace_id": error.trace_id,
        }
    }
