"""What is kept of the output of a command, and which line of it is told."""

from __future__ import annotations

import pytest

from callsheet.listener.handlers.command_handler import Excerpt, _last_line


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        ([""], ""),
        (["abc"], "abc"),
        (["abcd", "efgh"], "abcdefgh"),
        (["abcd", "efgh", "ijkl"], "abcdijkl"),
        (["abcdefghijkl"], "abcdijkl"),
        (["ab", "cdefg", "h", "i"], "abcdfghi"),
    ],
)
def test_the_beginning_and_the_end_are_kept(pieces: list[str], kept: str) -> None:
    excerpt = Excerpt(4)
    assert [excerpt.write(piece) for piece in pieces] == [len(piece) for piece in pieces]
    assert excerpt.excerpt_text == kept


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "no message"),
        ("one\ntwo\n", "two"),
        ("error: first\nhint: x\n", "error: first"),
        ("error: a\nerror: b\nnote: c", "error: b"),
        ("x" * 400, "x" * 300),
    ],
)
def test_the_line_that_says_most(text: str, line: str) -> None:
    assert _last_line(text) == line
