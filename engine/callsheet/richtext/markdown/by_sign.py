"""Only those of markdown-it-py's rules are tried that the sign at hand can begin.

The parser tries a dozen rules at every line and every place where a word ends; most look at one character and give up.
Here a chain of rules is one rule that looks up which of them begin with that character. What they do is unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

BLOCK = {
    "fence": "`~",
    "math_block": "$",
    "box": "!?",
    "container_container": ":",
    "content_tab": "=",
    "blockquote": ">",
    "hr": "*-_",
    "list": "*+-0123456789",
    "footnote_def": "[",
    "reference": "[",
    "html_block": "<",
    "heading": "#",
}
INLINE = {
    "text": "]",  # nothing begins with the end of a label, but links look for it
    "math_inline": "$",
    "newline": "\n",
    "escape": "\\",
    "backticks": "`",
    "strikethrough": "~",
    "emphasis": "*_",
    "link": "[",
    "image": "!",
    "footnote_ref": "[",
    "inline_note": "^",
    "autolink": "<",
    "html_inline": "<",
    "entity": "&",
}
# Rules for any line, left out where nothing in the whole text can be theirs.
NEEDED = {"table": re.compile(r"\|"), "deflist": re.compile(r"^[ \t>*+-]*[:~][ \t]", re.MULTILINE)}

Rule = Callable[..., bool]
Together = Callable[[dict[str, list[Rule]], list[Rule]], Rule]


class Chains:
    """In the place of a parser's ruler: each of its chains as one rule."""

    def __init__(self, ruler: Any, signs: dict[str, str], together: Together) -> None:
        self._ruler = ruler
        self._signs = signs
        self._together = together
        self._names = dict(zip(ruler.getRules(""), ruler.get_active_rules(), strict=True))
        self._made: dict[str, list[Rule]] = {}
        self._absent: frozenset[str] = frozenset()

    def prepare(self, source: str) -> None:
        absent = frozenset(name for name, pattern in NEEDED.items() if not pattern.search(source))
        if absent != self._absent:
            self._absent, self._made = absent, {}

    def get_active_rules(self) -> list[str]:
        return list(self._names.values())

    def getRules(self, chain: str = "") -> list[Rule]:  # noqa: N802 -- the parser's name for it
        if chain not in self._made:
            self._made[chain] = [self._one(self._ruler.getRules(chain))]
        return self._made[chain]

    def _one(self, rules: list[Rule]) -> Rule:
        named = [(rule, self._signs.get(self._names[rule])) for rule in rules if self._names[rule] not in self._absent]
        every = {sign for _rule, signs in named if signs for sign in signs}
        by_sign = {sign: [rule for rule, signs in named if signs is None or sign in signs] for sign in every}
        return self._together(by_sign, [rule for rule, signs in named if signs is None])


def of_lines(by_sign: dict[str, list[Rule]], others: list[Rule]) -> Rule:
    def rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        start = state.bMarks[line] + state.tShift[line]
        rules = by_sign.get(state.src[start], others) if start < state.eMarks[line] else others
        for one in rules:  # noqa: SIM110 -- a generator would cost as much as a rule
            if one(state, line, end, silent):
                return True
        return False

    return rule


def of_words(by_sign: dict[str, list[Rule]], _others: list[Rule]) -> Rule:
    sign = re.compile("[" + "".join(map(re.escape, by_sign)) + "]")

    def rule(state: StateInline, silent: bool) -> bool:
        start = state.pos
        rules = by_sign.get(state.src[start])
        if rules is not None:
            for one in rules:  # noqa: SIM110 -- the same
                if one(state, silent):
                    return True
            return False
        found = sign.search(state.src, start)
        state.pos = found.start() if found else state.posMax
        if not silent:
            state.append_pending(state.src[start : state.pos])
        return True

    return rule
