"""How a policy judges: the strictest source decides, and doubt never allows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.policy.policy import (
    CLASSES,
    DECISIONS,
    Decision,
    Facts,
    NamedThings,
    Policy,
    PolicyRule,
    PolicySource,
    RuleMatch,
    class_rules,
    read_only,
)

SAFETY = st.sampled_from(CLASSES)
WORDS = st.sampled_from(["getThing", "deleteThing", "addNote"])
NAMES = st.sampled_from(["DEMO", "SECRET"])


def some(values: st.SearchStrategy[str]) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(values, max_size=2)


facts = st.builds(
    Facts,
    safety=SAFETY,
    operations=st.none() | some(WORDS),
    methods=st.none() | some(st.sampled_from(["GET", "POST", "DELETE"])),
    paths=st.none() | some(st.sampled_from(["/rest/thing/1", "/x/rest/thing/1", "/rest/note"])),
    sites=st.none() | some(st.sampled_from(["work", "https://a.example:443"])),
    named=st.none() | st.dictionaries(st.just("project"), st.builds(NamedThings, some(NAMES), st.booleans())),
)
rules = st.builds(
    PolicyRule,
    decision=st.sampled_from(DECISIONS),
    text=st.just("a rule"),
    safety=st.none() | some(SAFETY),
    operations=st.none() | st.tuples(st.sampled_from(["getThing", "*Thing", "*"])),
    methods=st.none() | some(st.sampled_from(["GET", "DELETE"])),
    paths=st.none() | st.tuples(st.sampled_from(["/rest/thing/*", "/rest/**", "/rest/note"])),
    sites=st.none() | st.tuples(st.sampled_from(["work", "https://A.example/"])),
    named=st.dictionaries(st.just("project"), st.tuples(NAMES)),
)
sources = st.builds(PolicySource, st.just("here"), st.lists(rules, max_size=4).map(tuple))


def strictness(policy: Policy, known: Facts) -> int:
    return DECISIONS.index(policy.judge_request(known).decision)


@pytest.mark.slow
@given(policy=st.lists(sources, max_size=3), more=sources, known=facts)
def test_no_source_loosens_another(policy: list[PolicySource], more: PolicySource, known: Facts) -> None:
    before, after = strictness(Policy(policy), known), strictness(Policy([*policy, more]), known)
    assert after >= before
    assert after == max(before, strictness(Policy([more]), known))


@given(policy=st.lists(sources, max_size=3), known=facts)
def test_what_is_certainly_denied_is_denied_whatever_becomes_known(policy: list[PolicySource], known: Facts) -> None:
    unknown = known._replace(operations=None, methods=None, paths=None, sites=None, named=None)
    if Policy(policy).certainly_denies(unknown):
        assert Policy(policy).judge_request(known).decision == "deny"


@given(rule=rules, known=facts)
def test_what_is_not_known_is_never_certain(rule: PolicyRule, known: Facts) -> None:
    """What a rule says of a request it still says, or it says MAYBE, when less is known."""
    for field in ("operations", "methods", "paths", "sites", "named"):
        less = rule.match_request(known._replace(**{field: None}))
        assert less in (RuleMatch.MAYBE, rule.match_request(known)) or (
            less is RuleMatch.NO and rule.match_request(known) is RuleMatch.NO
        )


@given(rule=rules, known=facts, word=WORDS)
def test_one_more_way_to_read_a_request_never_makes_it_allowed(rule: PolicyRule, known: Facts, word: str) -> None:
    if known.operations is None:
        return
    before = PolicySource("here", (rule, *class_rules({"read": "deny", "write": "deny", "destroy": "deny"})))
    more = known._replace(operations=known.operations | {word})
    if before.judge_request(known).decision != "allow":
        allowed_alone = before.judge_request(known._replace(operations=frozenset({word}))).decision == "allow"
        assert before.judge_request(more).decision != "allow" or (not known.operations and allowed_alone)


WRITE = Facts("write", frozenset({"addNote"}), frozenset({"POST"}), frozenset({"/rest/note"}))

BY_HEADER = WRITE._replace(methods=frozenset({"GET", "DELETE"}))
EITHER = WRITE._replace(operations=frozenset({"addNote", "x"}))
AT_A = WRITE._replace(sites=frozenset({"https://a.example:443"}))
UNCLEAR = WRITE._replace(named={"project": NamedThings(unclear=True)})


@pytest.mark.parametrize(
    ("rule", "known", "match"),
    [
        (PolicyRule("deny", "", operations=("add*",)), WRITE, RuleMatch.YES),
        (PolicyRule("deny", "", operations=("ADDNOTE",)), WRITE, RuleMatch.YES),
        (PolicyRule("deny", "", operations=("add",)), WRITE, RuleMatch.NO),
        (
            PolicyRule("deny", "", operations=("addNote",)),
            EITHER,
            RuleMatch.MAYBE,
        ),
        (
            PolicyRule("deny", "", methods=frozenset({"DELETE"})),
            BY_HEADER,
            RuleMatch.MAYBE,
        ),
        (PolicyRule("deny", "", paths=("/rest/*",)), WRITE, RuleMatch.YES),
        (
            PolicyRule("deny", "", paths=("/rest/*",)),
            WRITE._replace(paths=frozenset({"/gate/x/rest/note"})),
            RuleMatch.YES,
        ),
        (PolicyRule("deny", "", paths=("/rest/*",)), WRITE._replace(paths=frozenset({"/rest/note/1"})), RuleMatch.NO),
        (PolicyRule("deny", "", paths=("/rest/**",)), WRITE._replace(paths=frozenset({"/rest/note/1"})), RuleMatch.YES),
        (PolicyRule("deny", "", paths=("/est/*",)), WRITE, RuleMatch.NO),
        (
            PolicyRule("deny", "", sites=("https://A.example/",)),
            AT_A,
            RuleMatch.YES,
        ),
        (PolicyRule("deny", "", sites=("https://*.example",)), AT_A, RuleMatch.YES),
        (PolicyRule("deny", "", sites=("work",)), AT_A, RuleMatch.NO),
        (PolicyRule("deny", "", named={"project": ("DEMO",)}), WRITE, RuleMatch.NO),
        (
            PolicyRule("deny", "", named={"project": ("DEMO",)}),
            UNCLEAR,
            RuleMatch.MAYBE,
        ),
    ],
)
def test_what_fits_a_rule(rule: PolicyRule, known: Facts, match: RuleMatch) -> None:
    assert rule.match_request(known) is match


def test_the_first_rule_that_fits_decides_in_its_source() -> None:
    rules = (PolicyRule("allow", "notes", operations=("addNote",)), *class_rules({"write": "deny"}))
    policy = Policy([PolicySource("here", rules)])
    assert policy.judge_request(WRITE).decision == "allow"
    assert policy.judge_request(WRITE._replace(operations=frozenset({"other"}))).rule == 'write = "deny"'
    assert Policy([*policy, read_only("there")]).judge_request(WRITE).source == "there"
    assert Policy([*policy, read_only("there")]).denies_changes() is not None
    assert policy.denies_changes() is None


def test_a_question_that_may_not_be_asked_hides_no_denial() -> None:
    """Read as a GET the request falls under the question, read as a DELETE under the denial."""
    rules = (PolicyRule("ask", "", methods=frozenset({"GET"})), PolicyRule("deny", "", methods=frozenset({"DELETE"})))
    policy = Policy([PolicySource("here", rules)])
    assert policy.judge_request(BY_HEADER).decision == "deny"
    assert policy.judge_request(BY_HEADER._replace(methods=None)).decision == "deny"
    assert policy.judge_request(BY_HEADER._replace(methods=frozenset({"GET"}))).decision == "ask"


def test_an_allowed_project_is_allowed_alone() -> None:
    rules = (PolicyRule("allow", "demo", named={"project": ("DEMO",)}), *class_rules({"write": "deny"}))
    policy = Policy([PolicySource("here", rules)])

    def decision(*names: str, unclear: bool = False) -> str:
        return policy.judge_request(WRITE._replace(named={"project": NamedThings(frozenset(names), unclear)})).decision

    assert decision("DEMO") == "allow"
    assert [decision(), decision("SECRET"), decision("DEMO", "SECRET"), decision("DEMO", unclear=True)] == ["deny"] * 4


@pytest.mark.slow
@given(policy=st.lists(sources, max_size=3), known=facts)
def test_what_is_not_known_yet_makes_nothing_milder(policy: list[PolicySource], known: Facts) -> None:
    unknown = known._replace(operations=None, methods=None, paths=None, sites=None, named=None)
    assert strictness(Policy(policy), unknown) >= strictness(Policy(policy), known)


@pytest.mark.parametrize("decision", ["ask", "deny"])
def test_a_stricter_rule_holds_where_one_reading_falls_under_it(decision: Decision) -> None:
    rule = PolicyRule(decision, "a rule", operations=("deleteThing",))
    two = Facts("write", operations=frozenset({"deleteThing", "addNote"}))
    assert Policy([PolicySource("here", (rule,))]).judge_request(two).decision == decision
