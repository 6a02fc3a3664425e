from __future__ import annotations

import pytest

from callsheet.openapi.schemas import first_paragraph


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("One line.", "One line."),
        ("One\nline  folded.\n\nSecond.", "One line folded."),
        ("\n\n  \nAfter blanks", "After blanks"),
        ("<p>HTML &amp; <b>marks</b>.</p><p>More</p>", "HTML & marks."),
        ("a<br/>b", "a"),
        ("**bold**, *italic*, _under_, `code`, __strong__", "bold, italic, under, code, strong"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("See [the page](https://x.example/y) ![pic](z.png)", "See the page"),
        ("# Heading\n\ntext", "Heading"),
        (" *  item\n *  other", "item other"),
        ("![only a picture](x.png)\n\nText", "Text"),
        ("", ""),
        (None, ""),
        (7, ""),
    ],
)
def test_first_paragraph(text: object, help: str) -> None:
    assert first_paragraph(text) == help
