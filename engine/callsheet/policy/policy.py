"""Rules about requests, and one verdict: the strictest source decides, so that no source loosens another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Literal, NamedTuple, get_args

from ..errors import CallsheetError
from ..language.safety import Safety
from ..patterns import lazy_pattern
from ..urls import url_origin

# What is known of a request when it is judged.


class NamedThings(NamedTuple):
    """The things of one kind (projects, say) that a request names.

    `unclear`: it also names some in a way that does not tell which they are, by a number for example.
    """

    names: frozenset[str] = frozenset()
    unclear: bool = False


class Facts(NamedTuple):
    """One request, in all the ways that a server may read it.

    `operations` are the documented operations that it may be, `methods` its method and those that take its place,
    `paths` its path in every reading. None stands for what is not known yet, as before a command has its arguments.
    `sites` are the name of the site and its addresses. `named` is by kind of thing.
    `unbelieved` is the class where a person's own definitions do not count.
    """

    safety: Safety
    operations: frozenset[str] | None = frozenset()
    methods: frozenset[str] | None = frozenset()
    paths: frozenset[str] | None = frozenset()
    sites: frozenset[str] | None = frozenset()
    named: Mapping[str, NamedThings] | None = {}
    unbelieved: Safety | None = None


# One rule of a policy, and whether a request falls under it.

Decision = Literal["allow", "ask", "deny"]

DECISIONS: tuple[Decision, ...] = get_args(Decision)  # the mildest first
CLASSES = ("read", "write", "destroy")


class RuleMatch(Enum):
    """MAYBE: some of the ways to read a request fall under the rule and others do not, or it is not known yet."""

    NO = 0
    MAYBE = 1
    YES = 2


class PolicyRule(NamedTuple):
    """What holds for requests that fit all of its patterns; of each, one must fit. None fits everything.

    `named` are patterns for the kinds of things that definitions know (projects, spaces).
    `text` is the rule as a person finds it in its source.
    """

    decision: Decision
    text: str
    reason: str = ""
    safety: frozenset[str] | None = None
    operations: tuple[str, ...] | None = None
    methods: frozenset[str] | None = None
    paths: tuple[str, ...] | None = None
    sites: tuple[str, ...] | None = None
    named: Mapping[str, tuple[str, ...]] = {}

    def match_request(self, facts: Facts) -> RuleMatch:
        return _combine_matches(self._matches_of_facts(facts))

    def _matches_of_facts(self, facts: Facts) -> Iterable[RuleMatch]:
        if self.safety is not None:
            yield RuleMatch.YES if facts.safety in self.safety else RuleMatch.NO
        if self.operations is not None:
            yield _match_each(facts.operations, [wildcard_pattern(text) for text in self.operations])
        if self.methods is not None:
            yield (
                RuleMatch.MAYBE
                if facts.methods is None
                else _match_of_share([each in self.methods for each in facts.methods])
            )
        if self.paths is not None:
            yield _match_each(facts.paths, [path_pattern(text) for text in self.paths])
        if self.sites is not None:
            yield _on_site(self.sites, facts.sites)
        for kind, wanted in self.named.items():
            yield RuleMatch.MAYBE if facts.named is None else _match_names(facts.named.get(kind, NamedThings()), wanted)


def _combine_matches(found: Iterable[RuleMatch]) -> RuleMatch:
    return min(found, key=lambda match: match.value, default=RuleMatch.YES)


def _match_each(values: Collection[str] | None, patterns: list[re.Pattern[str]]) -> RuleMatch:
    if values is None:
        return RuleMatch.MAYBE
    return _match_of_share([any(pattern.fullmatch(value) for pattern in patterns) for value in values])


def _match_of_share(fitting: list[bool]) -> RuleMatch:
    if fitting and all(fitting):
        return RuleMatch.YES
    return RuleMatch.MAYBE if any(fitting) else RuleMatch.NO


def _match_names(named: NamedThings, wanted: tuple[str, ...]) -> RuleMatch:
    """`unclear` ones may be of the wanted, and may be others."""
    found = _match_each(named.names, [wildcard_pattern(text) for text in wanted])
    return RuleMatch.MAYBE if named.unclear else found


def _on_site(wanted: tuple[str, ...], known: Collection[str] | None) -> RuleMatch:
    """A site by its name or by an address; one that fits is enough, since all of them are of the same site."""
    if known is None:
        return RuleMatch.MAYBE
    patterns = [wildcard_pattern(_normalized_address(text)) for text in wanted]
    return RuleMatch.YES if any(pattern.fullmatch(each) for each in known for pattern in patterns) else RuleMatch.NO


def _normalized_address(text: str) -> str:
    """An address as its scheme, host and port, so that spelling does not matter; anything else as it is."""
    if "://" not in text:
        return text
    if "*" in text:
        return f"{text.rstrip('/')}:*"
    try:
        return url_origin(text)
    except (CallsheetError, ValueError):
        return text


@cache
def wildcard_pattern(text: str) -> re.Pattern[str]:
    """`*` stands for any run of characters; case does not matter."""
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.IGNORECASE | re.DOTALL)


@cache
def path_pattern(text: str) -> re.Pattern[str]:
    """`*` stands for one segment or a part of it, `**` for any number; what stands before the path does not matter."""
    parts = ["[^/]*".join(map(re.escape, part.split("*"))) for part in text.strip("/").split("**")]
    return re.compile("(?:.*/)?" + ".*".join(parts), re.IGNORECASE | re.DOTALL)


VERSION = lazy_pattern(r"v?\d+(?:\.\d+)*|latest")  # a segment of a path; versions are alike


def may_fit_template(path: str, template: str, *, within: bool = False) -> bool:
    """Whether a path with wildcards, as a rule names it, fits a request to this path with {placeholders}.

    In doubt it does. What stands before either does not matter, as where requests are judged; `within` one that is
    longer than the template does not fit.
    """
    return _ends_alike(path.strip("/").split("/"), template.strip("/").split("/"), within=within)


def _ends_alike(wanted: list[str], template: list[str], *, within: bool) -> bool:
    if not wanted or not template:
        return not wanted or not within
    *before, last = wanted
    if "**" in last:
        starts = f"{last.partition('**')[0]}*"
        return any(
            _may_be_segment(starts, template[place]) and _ends_alike(before, template[:place], within=within)
            for place in range(len(template))
        )
    if len(template) == 1 and template[0].startswith("{") and any("**" not in each for each in before):
        return False  # a placeholder at the beginning has nothing before it
    return _may_be_segment(last, template[-1]) and _ends_alike(before, template[:-1], within=within)


def _may_be_segment(wanted: str, segment: str) -> bool:
    if "{" in segment or wildcard_pattern(wanted).fullmatch(segment):
        return True
    return bool(VERSION.fullmatch(wanted) and VERSION.fullmatch(segment))


# Several sources of rules and one verdict: the strictest of them decides, so no source loosens another.


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

    def judge_request(self, facts: Facts) -> PolicyVerdict:
        """In doubt no rule allows, and the strictest of those that may fit holds."""
        if self.strict and facts.unbelieved is not None:
            facts = facts._replace(safety=facts.unbelieved)
        return _strictest_verdict(self._possible_verdicts(facts))

    def _possible_verdicts(self, facts: Facts) -> Iterator[PolicyVerdict]:
        """Of each rule that may be the first to fit. One that only may fit hides none of those behind it."""
        for rule in self.rules:
            match = rule.match_request(facts)
            if match is not RuleMatch.NO:
                yield self._verdict_of_rule(rule)
            if match is RuleMatch.YES:
                return

    def certainly_denies(self, facts: Facts) -> PolicyVerdict | None:
        """The verdict where it is a denial whatever is still to be known."""
        for rule in self.rules:
            match = rule.match_request(facts)
            if rule.decision == "deny" and match is RuleMatch.YES:
                return self._verdict_of_rule(rule)
            if rule.decision != "deny" and match is not RuleMatch.NO:
                return None
        return None

    def _verdict_of_rule(self, rule: PolicyRule) -> PolicyVerdict:
        return PolicyVerdict(rule.decision, rule.reason, rule.text, self.name)


class Policy(tuple[PolicySource, ...]):
    """The sources that hold for a run."""

    __slots__ = ()

    def judge_request(self, facts: Facts) -> PolicyVerdict:
        """The strictest verdict of all sources."""
        return _strictest_verdict(source.judge_request(facts) for source in self)

    def certainly_denies(self, facts: Facts) -> PolicyVerdict | None:
        """A denial that holds whatever is still unknown of the request (None in its facts), if there is one."""
        return next(self._denials_of(facts), None)

    def denies_changes(self) -> PolicyVerdict | None:
        """The denial that meets everything but reading, if there is one."""
        found = [self.certainly_denies(_unknown_verdict(safety)) for safety in ("write", "destroy")]
        return found[0] if all(found) else None

    @property
    def names_things(self) -> bool:
        """Whether a rule is about things that requests name, so that these have to be looked for."""
        return any(rule.named for source in self for rule in source.rules)

    def _denials_of(self, facts: Facts) -> Iterator[PolicyVerdict]:
        return (verdict for source in self if (verdict := source.certainly_denies(facts)) is not None)


def covers_rule(first: PolicyRule, later: PolicyRule) -> bool:
    """Whether whatever fits a later rule fits an earlier one, so that the later one is never reached."""
    return all(
        wanted is None or (given is not None and all(any(fits(each, one) for one in wanted) for each in given))
        for wanted, given, fits in (
            (first.safety, later.safety, str.__eq__),
            (first.operations, later.operations, is_within),
            (first.methods, later.methods, str.__eq__),
            (first.paths, later.paths, _is_path_within),
            (first.sites, later.sites, is_within),
            *((names, later.named.get(kind), is_within) for kind, names in first.named.items()),
        )
    )


def is_within(inner: str, outer: str) -> bool:
    """Whether a pattern with `*`, or a text without, fits nothing that another pattern does not fit."""
    return wildcard_pattern(outer).fullmatch(inner) is not None


def _is_path_within(inner: str, outer: str) -> bool:
    return path_pattern(outer).fullmatch(inner.strip("/").replace("**", "*/*")) is not None


def class_rules(decisions: dict[str, Decision], text: str = "") -> tuple[PolicyRule, ...]:
    """A rule for each class of requests; `text` is what stands in the source, `destroy = "deny"` unless it is said."""
    return tuple(
        PolicyRule(decision, text or f'{name} = "{decision}"', safety=frozenset({name}))
        for name, decision in decisions.items()
    )


def read_only(source: str, text: str = "read-only") -> PolicySource:
    """A source that denies everything but reading."""
    return PolicySource(source, class_rules(dict.fromkeys(CLASSES[1:], "deny"), text))


def _unknown_verdict(safety: Safety) -> Facts:
    return Facts(safety, operations=None, methods=None, paths=None, sites=None, named=None)


def _strictest_verdict(verdicts: Iterable[PolicyVerdict]) -> PolicyVerdict:
    return max(verdicts, key=lambda verdict: DECISIONS.index(verdict.decision), default=PolicyVerdict())
