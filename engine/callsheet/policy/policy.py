"""Several sources of rules and one verdict: the strictest of them decides, so no source loosens another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..language.safety import Safety
from .facts import Facts
from .rule import CLASSES, DECISIONS, Decision, PolicyRule, RuleMatch


class PolicyVerdict(NamedTuple):
    """`rule` is the rule as it stands in its `source`; both are empty where nothing was said."""

    decision: Decision = "allow"
    reason: str = ""
    rule: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{self.rule} in {self.source}" if self.source else "no policy"


class PolicySource(NamedTuple):
    """Rules from one place. The first one that fits decides there; where none fits, the request is allowed.

    A `strict` one does not believe what a person's own definitions say of an operation.
    """

    name: str
    rules: tuple[PolicyRule, ...]
    strict: bool = False

    def judge(self, facts: Facts) -> PolicyVerdict:
        """In doubt no rule allows, and the strictest of those that may fit holds."""
        if self.strict and facts.unbelieved is not None:
            facts = facts._replace(safety=facts.unbelieved)
        return _strictest(self._possible(facts))

    def _possible(self, facts: Facts) -> Iterator[PolicyVerdict]:
        """Of each rule that may be the first to fit. One that may fit and asks hides no denial behind it."""
        for rule in self.rules:
            match = rule.match(facts)
            if match is RuleMatch.YES or (match is RuleMatch.MAYBE and rule.decision != "allow"):
                yield self._verdict(rule)
            if match is RuleMatch.YES:
                return

    def certainly_denies(self, facts: Facts) -> PolicyVerdict | None:
        """The verdict where it is a denial whatever is still to be known."""
        for rule in self.rules:
            match = rule.match(facts)
            if rule.decision == "deny" and match is RuleMatch.YES:
                return self._verdict(rule)
            if rule.decision != "deny" and match is not RuleMatch.NO:
                return None
        return None

    def _verdict(self, rule: PolicyRule) -> PolicyVerdict:
        return PolicyVerdict(rule.decision, rule.reason, rule.text, self.name)


class Policy(tuple[PolicySource, ...]):
    """The sources that hold for a run."""

    __slots__ = ()

    def judge(self, facts: Facts) -> PolicyVerdict:
        """The strictest verdict of all sources."""
        return _strictest(source.judge(facts) for source in self)

    def certainly_denies(self, facts: Facts) -> PolicyVerdict | None:
        """A denial that holds whatever is still unknown of the request (None in its facts), if there is one."""
        return next(self._denials(facts), None)

    def denies_changes(self) -> PolicyVerdict | None:
        """The denial that meets everything but reading, if there is one."""
        found = [self.certainly_denies(_unknown(safety)) for safety in ("write", "destroy")]
        return found[0] if all(found) else None

    @property
    def names_things(self) -> bool:
        """Whether a rule is about things that requests name, so that these have to be looked for."""
        return any(rule.named for source in self for rule in source.rules)

    def _denials(self, facts: Facts) -> Iterator[PolicyVerdict]:
        return (verdict for source in self if (verdict := source.certainly_denies(facts)) is not None)


def class_rules(decisions: dict[str, Decision], text: str = "") -> tuple[PolicyRule, ...]:
    """A rule for each class of requests; `text` is what stands in the source, `destroy = "deny"` unless it is said."""
    return tuple(
        PolicyRule(decision, text or f'{name} = "{decision}"', safety=frozenset({name}))
        for name, decision in decisions.items()
    )


def read_only(source: str, text: str = "read-only") -> PolicySource:
    """A source that denies everything but reading."""
    return PolicySource(source, class_rules(dict.fromkeys(CLASSES[1:], "deny"), text))


def _unknown(safety: Safety) -> Facts:
    return Facts(safety, operations=None, methods=None, paths=None, sites=None, named=None)


def _strictest(verdicts: Iterable[PolicyVerdict]) -> PolicyVerdict:
    return max(verdicts, key=lambda verdict: DECISIONS.index(verdict.decision), default=PolicyVerdict())
