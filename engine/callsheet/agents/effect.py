"""What a command line of one of the programs would do, and what a policy says of it, without running it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..language.safety import Safety
from ..policy.policy import PolicyVerdict
from ..policy.rule import Decision
from .invocations import invocations
from .shell_syntax import Unclear
from .shell_words import Word
from .simple_commands import ADDED, Invocation


class Effect(NamedTuple):
    """`safety` is None where the line does not tell. `note` says what else there is to know, in words."""

    line: str
    safety: Safety | None
    command: str = ""
    operations: tuple[str, ...] = ()
    verdict: PolicyVerdict = PolicyVerdict()
    note: str = ""


# The words of one invocation → its effect; raises `Unclear` where they do not tell, and what a run would raise where a
# policy or the definitions cannot be read.
Read = Callable[[str, Sequence[Word]], Effect]


def effects(line: str, programs: Sequence[str], read: Read) -> list[Effect]:
    """Of every program of ours that a shell line would start."""
    try:
        found = invocations(line, programs)
    except Unclear as error:
        return [Effect(line, None, note=str(error))]
    return [_effect(invocation, read) for invocation in found]


def _effect(invocation: Invocation, read: Read) -> Effect:
    words = [*invocation.words, *([ADDED] if invocation.open else [])]
    shown = " ".join([invocation.program, *(word.text for word in words)])
    try:
        return read(invocation.program, words)._replace(line=shown)
    except Unclear as error:
        return Effect(shown, None, note=str(error))


class Ruling(NamedTuple):
    """What a guard says of a line, and why."""

    decision: Decision
    reason: str


ALLOWED = Ruling("allow", "")


def ruling(found: Sequence[Effect], *, all_writes: bool) -> Ruling:
    """The strictest of all effects. A policy's question is a denial: a program that an agent starts can ask nobody.

    Without a policy a person is asked before something is destroyed, with `all_writes` before any change, and wherever
    the line does not tell.
    """
    rulings = [_ruling(effect, all_writes=all_writes) for effect in found]
    strictness = {"allow": 0, "ask": 1, "deny": 2}
    return max(rulings, key=lambda each: strictness[each.decision], default=ALLOWED)


def _ruling(effect: Effect, *, all_writes: bool) -> Ruling:
    verdict = effect.verdict
    if verdict.decision == "deny":
        return Ruling("deny", f"`{effect.line}` is denied by the policy ({verdict}){_reason(verdict)}")
    if verdict.decision == "ask":
        why = f"the policy wants a person to confirm this ({verdict}){_reason(verdict)}"
        return Ruling("deny", f"`{effect.line}`: {why}; ask the person to run it at a terminal")
    if effect.safety is None or effect.note:
        return Ruling("ask", f"`{effect.line}`: {effect.note}")
    asks = ("destroy", "write") if all_writes else ("destroy",)
    if effect.safety in asks:
        verb = "takes something away" if effect.safety == "destroy" else "changes something"
        return Ruling("ask", f"`{effect.line}` {verb}")
    return ALLOWED


def _reason(verdict: PolicyVerdict) -> str:
    return f": {verdict.reason}" if verdict.reason else ""
