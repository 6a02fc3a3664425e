"""What bash is given reads back as the word, whatever stands before the cursor."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.cli.completion.shells import read_line

BREAKS = " \t\n\"'@><=;|&(:"
SHOWN = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=8)


@pytest.mark.parametrize(
    ("line", "words", "last", "kept", "quote"),
    [
        ("suite issues get ", ["issues", "get"], "", "", ""),
        ("suite issues g", ["issues"], "g", "", ""),
        ("X=1 Y='a b' suite op ", ["op"], "", "", ""),
        (r"suite a\ b c\"d", ["a b"], 'c"d', "", ""),
        ("suite 'a b", [], "a b", "", "'"),
        ('suite "a $b\\"c', [], 'a $b"c', "", '"'),
        ('suite "a"b', [], "ab", "a", ""),
        ("suite --opt=va", [], "--opt=va", "--opt=", ""),
        ("suite a:b\\:c", [], "a:b:c", "a:", ""),
        ("suite a:'b", [], "a:b", "a:", "'"),
        ("suite '' ", [""], "", "", ""),
    ],
)
def test_a_line_is_read_as_bash_reads_it(line: str, words: list[str], last: str, kept: str, quote: str) -> None:
    assert read_line(line, BREAKS)[:4] == (words, last, kept, quote)


@given(before=st.sampled_from(["", "'", '"']), beginning=SHOWN, rest=SHOWN)
def test_a_word_on_the_line_reads_back_as_it_is(before: str, beginning: str, rest: str) -> None:
    typed = f"suite {before}{'' if before else beginning[:0]}"
    line = read_line(typed, BREAKS)
    word = beginning + rest
    quoted = line.quote_word(word)
    if quoted is None:
        assert before
        return
    closed = read_line(f"{typed}{quoted}{before} ", BREAKS)
    assert closed.words == ([word] if word or before else [])


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_itself_reads_every_sign_back() -> None:
    words = [f"a{chr(sign)}{chr(sign)}b" for sign in (*range(32, 127), 0xA0, 0xE9, 0x2019, 0x1F600)]
    words += ["$(touch here)", "`touch here`", "~root", "{a,b}", "#x", "!!", "a'b\"c\\d", "[x]?*"]
    lines = [(open_quote, word) for open_quote in ("", "'", '"') for word in words]
    written = [(word, f"{quote}{text}{quote}") for quote, word in lines if (text := _quoted(quote, word)) is not None]
    script = "printf '%s\\0' " + " ".join(text for _, text in written)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == [word for word, _ in written]
    assert len(written) > 2 * len(words)


def _quoted(quote: str, word: str) -> str | None:
    return read_line(f"suite {quote}", BREAKS).quote_word(word)
