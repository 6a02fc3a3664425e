"""One rule of a policy, and whether a request falls under it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Literal, NamedTuple, get_args

from ..errors import CallsheetError
from ..urls import url_origin
from .facts import Facts, NamedThings

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

    def match(self, facts: Facts) -> RuleMatch:
        return _all(self._matches(facts))

    def _matches(self, facts: Facts) -> Iterable[RuleMatch]:
        if self.safety is not None:
            yield RuleMatch.YES if facts.safety in self.safety else RuleMatch.NO
        if self.operations is not None:
            yield _each(facts.operations, [_pattern(text) for text in self.operations])
        if self.methods is not None:
            yield RuleMatch.MAYBE if facts.methods is None else _share([each in self.methods for each in facts.methods])
        if self.paths is not None:
            yield _each(facts.paths, [path_pattern(text) for text in self.paths])
        if self.sites is not None:
            yield _on_site(self.sites, facts.sites)
        for kind, wanted in self.named.items():
            yield RuleMatch.MAYBE if facts.named is None else _names(facts.named.get(kind, NamedThings()), wanted)


def _all(found: Iterable[RuleMatch]) -> RuleMatch:
    return min(found, key=lambda match: match.value, default=RuleMatch.YES)


def _each(values: Collection[str] | None, patterns: list[re.Pattern[str]]) -> RuleMatch:
    if values is None:
        return RuleMatch.MAYBE
    return _share([any(pattern.fullmatch(value) for pattern in patterns) for value in values])


def _share(fitting: list[bool]) -> RuleMatch:
    if fitting and all(fitting):
        return RuleMatch.YES
    return RuleMatch.MAYBE if any(fitting) else RuleMatch.NO


def _names(named: NamedThings, wanted: tuple[str, ...]) -> RuleMatch:
    """`unclear` ones may be of the wanted, and may be others."""
    found = _each(named.names, [_pattern(text) for text in wanted])
    return RuleMatch.MAYBE if named.unclear else found


def _on_site(wanted: tuple[str, ...], known: Collection[str] | None) -> RuleMatch:
    """A site by its name or by an address; one that fits is enough, since all of them are of the same site."""
    if known is None:
        return RuleMatch.MAYBE
    patterns = [_pattern(_address(text)) for text in wanted]
    return RuleMatch.YES if any(pattern.fullmatch(each) for each in known for pattern in patterns) else RuleMatch.NO


def _address(text: str) -> str:
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
def _pattern(text: str) -> re.Pattern[str]:
    """`*` stands for any run of characters; case does not matter."""
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.IGNORECASE | re.DOTALL)


@cache
def path_pattern(text: str) -> re.Pattern[str]:
    """`*` stands for one segment or a part of it, `**` for any number; what stands before the path does not matter."""
    parts = ["[^/]*".join(map(re.escape, part.split("*"))) for part in text.strip("/").split("**")]
    return re.compile("(?:.*/)?" + ".*".join(parts), re.IGNORECASE | re.DOTALL)
