"""PowerShell: what its script hands over, and what it gets back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.cli.completion.shells import completion_script, powershell_quoted
from callsheet.cli.main import run
from support.cases import environment

QUOTES = "'\u2018\u2019\u201a\u201b"


def offered(capsys: pytest.CaptureFixture[str], home: Path, words: str) -> tuple[int, list[list[str]]]:
    asked = {"_SUITE_COMPLETE": "powershell", "_SUITE_COMPLETE_WORDS": words}
    code = run("suite", [], environ={**environment(home, ""), **asked})
    return code, [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_words_come_in_a_variable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, found = offered(capsys, tmp_path, json.dumps(["op", "list", "--tag", "Issue w"]))
    assert code == 0
    assert ["word", "'Issue watchers'", ""] in found
    assert ["part", "--output=json", ""] not in found


@pytest.mark.parametrize("words", ["", "{", "{}", "[1, null]", '"op"'])
def test_a_variable_of_another_form_is_an_empty_line(
    words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, found = offered(capsys, tmp_path, words)
    assert code == 0
    assert "issues" in [word for _, word, _ in found]


@given(st.text(st.sampled_from(" a1-.'\"$`(){};,|&<>@#" + QUOTES)))
def test_a_word_is_one_literal_or_left_out(word: str) -> None:
    quoted = powershell_quoted(word)
    if quoted is None:
        assert '"' in word
    elif quoted != word:
        assert (quoted[0], quoted[-1]) == ("'", "'")
        assert re.fullmatch(rf"(?:[^{QUOTES}]|([{QUOTES}])\1)*", quoted[1:-1])
        assert re.sub(rf"([{QUOTES}])\1", r"\1", quoted[1:-1]) == word
    else:
        assert re.fullmatch(r"[a1.-]+", word)


def wrong(text: str) -> list[str]:
    """What a grammar of PowerShell cannot read in a script; there is no PowerShell here to run it."""
    grammar = pytest.importorskip("tree_sitter_powershell", reason="only where it can be installed without a compiler")
    parser = pytest.importorskip("tree_sitter")
    source = text.encode()
    waiting, found = [parser.Parser(parser.Language(grammar.language())).parse(source).root_node], []
    while waiting:
        node = waiting.pop()
        found += [source[node.start_byte : node.end_byte].decode()] if node.is_error or node.is_missing else []
        waiting += node.children
    return found


@pytest.mark.parametrize("program", ["suite", "my-shop", "a1"])
def test_the_script_is_sound_as_a_whole_and_not_without_a_part(program: str) -> None:
    text = completion_script("powershell", program)
    assert wrong(text) == []
    for part in ("param(", "try {", "ForEach-Object {", "$typed += (", "-replace '"):
        assert wrong(text.replace(part, "", 1)), part


def test_the_script_is_for_the_program() -> None:
    text = completion_script("powershell", "my-shop")
    assert "-CommandName 'my-shop', 'my-shop.exe'" in text
    assert "$env:_MY_SHOP_COMPLETE_WORDS" in text
    assert "%" not in text.replace("%(", "(")
    assert text.count("{") == text.count("}")
    assert text.isascii()
