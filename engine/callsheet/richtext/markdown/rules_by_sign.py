"""Only those of the parser's rules for lines are tried that the sign at the start of the line can begin.

The parser tries a dozen rules at every line; most look at one character and give up. Here each chain of rules is one
rule that looks up which of them begin with that character. What they do is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

SIGNS = {
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

Rule = Callable[[StateBlock, int, int, bool], bool]


class RulesBySign:
    """In the place of the parser's ruler, when all its rules are there."""

    def __init__(self, parser: MarkdownIt) -> None:
        self._ruler = parser.block.ruler
        self._names = dict(zip(self._ruler.getRules(""), self._ruler.get_active_rules(), strict=True))
        self._made: dict[str, list[Rule]] = {}

    def get_active_rules(self) -> list[str]:
        return list(self._names.values())

    def getRules(self, chain: str = "") -> list[Rule]:  # noqa: N802 -- the parser's name for it
        if chain not in self._made:
            signs = [(rule, SIGNS.get(self._names[rule])) for rule in self._ruler.getRules(chain)]
            every = {sign for _rule, began_by in signs for sign in began_by or ""}
            by_sign = {sign: [rule for rule, began_by in signs if not began_by or sign in began_by] for sign in every}
            self._made[chain] = [_one(by_sign, [rule for rule, began_by in signs if not began_by])]
        return self._made[chain]


def _one(by_sign: dict[str, list[Rule]], others: list[Rule]) -> Rule:
    def rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        start = state.bMarks[line] + state.tShift[line]
        for one in by_sign.get(state.src[start : start + 1], others):  # noqa: SIM110 -- a generator costs as much as a rule
            if one(state, line, end, silent):
                return True
        return False

    return rule
