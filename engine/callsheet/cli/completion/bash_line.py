"""What was typed so far, as bash reads it, and words as bash has to find them on the line.

bash replaces only what follows the last break character (a quote, or a sign of COMP_WORDBREAKS such as `:` and `=`),
and it puts words on the line as they are. So a word is cut where bash cuts, and quoted for what stands before it.
"""

from __future__ import annotations

from typing import NamedTuple

from ...patterns import lazy_pattern

_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# A table, because a regular expression with all the letters there are takes 5 ms to compile.
_PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,^-"
_SPECIAL = {number: f"\\{chr(number)}" for number in range(0xA1) if chr(number) not in _PLAIN}
_SPECIAL_QUOTED = lazy_pattern(r'[$`"\\]')


class BashLine(NamedTuple):
    """The words behind the program, the one that is being typed as `last`, and the quote that is open in it.

    `kept` is the part of `last` that bash leaves on the line.
    """

    words: list[str]
    last: str
    kept: str
    quote: str

    def quoted(self, word: str) -> str | None:
        """What replaces the end of the line so that the last word is `word`; None where that cannot be written."""
        if not word.startswith(self.kept):
            return None
        rest = word[len(self.kept) :]
        if self.quote and rest.endswith(self.quote):  # bash would take it for the end of the quotation
            return None
        if self.quote == "'":
            return rest.replace("'", "'\\''")
        if self.quote == '"':
            return None if "!" in rest else _SPECIAL_QUOTED.sub(r"\\\g<0>", rest)
        return rest.translate(_SPECIAL)


def read_line(line: str, breaks: str) -> BashLine:
    """`line` ends where the cursor is. Nothing in it is expanded: `$HOME` is these five characters."""
    found = _Words(breaks)
    for sign in line:
        found.take(sign)
    words = found.words
    while words and _ASSIGNMENT.match(words[0]):  # `NAME=value program ...`
        del words[0]
    return BashLine(words[1:], found.word, found.word[: found.kept], found.quote)


class _Words:
    def __init__(self, breaks: str) -> None:
        self.breaks = breaks
        self.words: list[str] = []
        self.word = ""
        self.begun = False
        self.kept = 0
        self.quote = ""
        self.escaped = False

    def take(self, sign: str) -> None:
        if self.escaped:
            self.escaped = False
            self._add(sign if not self.quote or sign in '$`"\\' else "\\" + sign)
        elif sign == "\\" and self.quote != "'":
            self.escaped = True
        elif self.quote and sign != self.quote:
            self._add(sign)
        elif self.quote or sign in "'\"":
            self.quote = "" if self.quote else sign
            self.begun, self.kept = True, len(self.word)
        elif sign in " \t\n":
            self._end()
        else:
            self._add(sign)
            if sign in self.breaks:
                self.kept = len(self.word)

    def _add(self, sign: str) -> None:
        self.word += sign
        self.begun = True

    def _end(self) -> None:
        if self.begun:
            self.words.append(self.word)
        self.word, self.begun, self.kept = "", False, 0
