"""Stars and underscores that nothing can answer, as in `*args` and `a * b`: text at once.

The parser keeps each of them until the end of the paragraph, to find then that it has no other half.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from markdown_it.rules_inline import StateInline

CLOSES = {sign: re.compile(rf"[^\s{re.escape(sign)}]{re.escape(sign)}") for sign in "*_"}


def unanswered(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The parser's own rule for all but the signs that can only open where nothing closes, or the other way round."""

    def emphasis(state: StateInline, silent: bool) -> bool:
        start = state.pos
        sign = state.src[start]
        if silent or sign not in CLOSES:
            return rule(state, silent)
        run = state.scanDelims(start, sign == "*")
        if (run.can_open and (run.can_close or _closes_after(state, start + run.length, sign))) or (
            run.can_close and state.delimiters
        ):
            return rule(state, silent)
        state.append_pending(sign * run.length)
        state.pos += run.length
        return True

    return emphasis


def _closes_after(state: StateInline, place: int, sign: str) -> bool:
    """Whether a later sign can close; the first such place is looked for once for all signs before it."""
    found: dict[str, int] = vars(state).setdefault("closing", {})
    if found.get(sign, 0) <= place:
        match = CLOSES[sign].search(state.src, place)
        found[sign] = match.end() if match else len(state.src) + 1
    return found[sign] <= len(state.src)
