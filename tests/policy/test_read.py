"""A policy as it is written: what it means, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from callsheet.errors import CallsheetError, NotAllowed, UsageError
from callsheet.policy import policy_sources as load
from callsheet.policy.policy import DECISIONS, Facts, NamedThings, Policy
from callsheet.policy.policy_sources import DocumentedRequest, from_variable, load_policy, of_site


class Names:
    program = "shop"

    def operation_id(self, name: str) -> str | None:
        return {"getThing": "getThing", "deleteThing": "deleteThing", "shop.getThing": "getThing"}.get(name)

    def operations(self) -> Collection[str]:
        return ["getThing", "deleteThing"]

    def requests(self) -> list[DocumentedRequest]:
        return [
            DocumentedRequest("getThing", "GET", "/api/3/thing/{thingId}", "read"),
            DocumentedRequest("deleteThing", "DELETE", "/api/3/thing/{thingId}", "destroy"),
        ]

    def kinds(self) -> Mapping[str, Collection[str]]:
        return {"project": ["([A-Za-z]+)(?:-[0-9]+)?"], "seen_by": ["(customers|agents)"], "shelf": ["(s-[0-9]{5})"]}

    def programs(self) -> Collection[str]:
        return ["shop", "bazaar"]


NAMES = Names()
CLASSES = ("read", "write", "destroy")


def decisions(text: str) -> str:
    """The decisions for the three classes, as letters."""
    source = from_variable(text, "THE_POLICY", NAMES)
    return "".join(source.judge_request(Facts(each)).decision[1] for each in CLASSES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read-only", "lee"),
        (" READ_ONLY ", "lee"),
        ("destroy=deny", "lle"),
        ("destroy=deny,write=ask", "lse"),
        ("destroy=deny  write=ask", "lse"),
        ("read-only,read=ask", "see"),
        ("read-only, write=ask", "lse"),
        ('destroy = "deny"', "lle"),
        ('destroy = "deny"\nwrite = "ask"', "lse"),
        ('[[rule]]\ndecision = "deny"', "eee"),
        ('[[rule]]\nclass = ["read", "write"]\ndecision = "ask"', "ssl"),
        ("destroy=deny,getThing=deny", "lle"),
        ('[[rule]]\nprogram = ["till", "shop"]\ndecision = "deny"', "eee"),
        (
            'destroy = "deny"\n[[rule]]\nprogram = "till"\noperation = "openDrawer"\ndrawer = "x"\ndecision = "deny"',
            "lle",
        ),
    ],
)
def test_what_is_written_is_meant(text: str, expected: str) -> None:
    assert decisions(text) == expected
    assert [word[1] for word in DECISIONS] == ["l", "s", "e"]


def test_operations_are_known_by_any_of_their_names() -> None:
    rule = '[[rule]]\noperation = "shop.getThing"\ndecision = "deny"'
    for text in ("getThing=deny", "shop.getThing=deny", "get*=deny", rule):
        source = from_variable(text, "P", NAMES)
        assert source.judge_request(Facts("read", frozenset({"getThing"}))).decision == "deny", text
        assert source.judge_request(Facts("read", frozenset({"deleteThing"}))).decision == "allow", text


def test_things_are_known_by_their_kind() -> None:
    source = from_variable('[[rule]]\nproject = "DEMO"\ndecision = "deny"\nreason = "frozen"', "P", NAMES)
    verdict = source.judge_request(Facts("read", named={"project": NamedThings(frozenset({"DEMO"}))}))
    assert verdict == ("deny", "frozen", "rule 1 (project DEMO: deny)", "P")


def rule(text: str, decision: str = "deny") -> str:
    return f"[[rule]]\ndecision = '{decision}'\n{text}\n"


@pytest.mark.parametrize(
    "text",
    [
        "*=deny",
        "delete*=deny",
        rule("path='/api/3/thing/DEMO-*'"),
        rule("path='/api/2/thing/*'"),
        rule("path='/gateway/api/3/thing/*'"),
        rule("path='/thing/**'"),
        rule("path='/api/**/7'"),
        rule("path='/api/internal/**'"),
        rule("path='/elsewhere'"),
        rule("path='/thing/api/3/thing/**'"),
        rule("method='PROPFIND'"),
        rule("operation=['getThing', 'deleteThing']\nclass='destroy'\npath='/api/3/thing/7'"),
        rule("operation='*'\nclass='write'"),
        rule("project='D*'\nseen_by='CUSTOMERS'\nshelf='s-*'"),
        rule("operation='deleteThing'", "allow") + rule("operation='*'"),
        rule("operation='*'", "deny") + rule("operation='deleteThing'"),
        'destroy="deny"\n' + rule("operation='*'", "allow"),
        rule("path='/api/*'", "allow") + rule("path='/api/**'"),
        rule("project='D*'", "allow") + rule("project=['DEMO', 'OPS']"),
    ],
)
def test_what_may_fit_something_is_a_rule(text: str) -> None:
    assert from_variable(text, "THE_POLICY", NAMES).rules


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("readonly", "cannot read readonly"),
        ("destory=deny", "unknown operation 'destory'"),
        ("destroy=never", "destroy: expected one of allow, ask, deny, not 'never'"),
        ("destroy=alow", "did you mean 'allow'?"),
        ("getThng=deny", "did you mean 'getThing'?"),
        ("read-only,x", "'x' is not read-only, and not WHAT=DECISION"),
        ('destory = "deny"', "unknown key 'destory', did you mean 'destroy'?"),
        ("destroy = true", "destroy: expected one of"),
        ("destroy = [", "not TOML"),
        ("rule = 3\n", "rule: expected tables"),
        ("[[rule]]\nclass='read'", "rule 1: decision is missing"),
        ("[[rule]]\ndecision='deny'\nclss='read'", "rule 1: unknown key 'clss', did you mean 'class'?"),
        ("[[rule]]\ndecision='deny'\nclass='reed'", "did you mean 'read'?"),
        ("[[rule]]\ndecision='deny'\nclass=[]", "class: expected a text or a list of texts"),
        ("[[rule]]\ndecision='deny'\nproject=7", "project: expected a text or a list of texts"),
        ("[[rule]]\ndecision='deny'\npath='rest'", "path: 'rest' does not start with a slash"),
        ("[[rule]]\ndecision='deny'\nmethod='/x'", "method: '/x' is not a method such as DELETE"),
        ("[[rule]]\ndecision='deny'\nreason=['a']", "reason: expected a text"),
        ("delte*=deny", "unknown operation 'delte*', did you mean 'deleteThing'?"),
        ("delete.*=deny", "unknown operation 'delete.*', did you mean 'delete*'?"),
        ("shop.*=deny", "unknown operation 'shop.*'"),
        (rule("path='/api/3/thing/{thingId}'"), "path: no path of a request has '{'"),
        (rule("path='/api/3/thing?x=*'"), "path: no path of a request has '?'"),
        (rule("path='/api/3/thng/*'"), "no operation has a path like '/api/3/thng/*', did you mean '/api/3/thing/*'?"),
        (rule("path='/thngs/**'"), "did you mean '/thing/**'?"),
        (rule("method='DELTE'"), "method: no method 'DELTE', did you mean 'DELETE'?"),
        (rule("operation='getThing'\nclass='write'"), "'getThing' never has the class write, but read"),
        (rule("operation='get*'\nmethod='PUT'"), "'get*' never has the method PUT, but GET"),
        (
            rule("operation='getThing'\npath='/api/*/shelf/*'"),
            "never has the path /api/*/shelf/*, but /api/3/thing/{th",
        ),
        (
            rule("operation=['getThing', 'deleteThing']\nclass='write'"),
            "none of getThing, deleteThing has the class write, but destroy or read",
        ),
        (rule("program=['shop', 'bazar']"), "program: no program 'bazar', did you mean 'bazaar'?"),
        (rule("seen_by='customer'"), "seen_by: 'customer' is the name of none, did you mean 'customers'?"),
        (rule("seen_by='x*'"), "seen_by: 'x*' is the name of none (known: customers, agents)"),
        (rule("project='DEMO-1'"), "project: 'DEMO-1' is the name of none, did you mean 'DEMO'?"),
        (rule("project='DEMO-*'"), "project: 'DEMO-*' is the name of none, did you mean 'DEMO'?"),
        (rule("project='demo project'"), "project: 'demo project' is the name of none"),
        (
            rule("operation='*'", "allow") + rule("operation='deleteThing'"),
            "rule 2 (operation deleteThing: deny) is never reached: rule 1 (operation *: allow) stands before it",
        ),
        ("*=allow,deleteThing=deny", "rule 2 (operation deleteThing: deny) is never reached"),
        ('destroy="deny"\n' + rule("", "allow"), 'destroy = "deny" is never reached: rule 1 (everything: allow)'),
        (
            rule("path='/api/**'\nclass=['read', 'write']") + rule("path='/api/*/thing'\nclass='read'", "ask"),
            "rule 2 (class read, path /api/*/thing: ask) is never reached",
        ),
        ("/nowhere/policy.toml", "cannot read /nowhere/policy.toml"),
        ("a = " + "[" * 5000 + "\n", "nested too deeply"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_variable(text, "THE_POLICY", NAMES)
    assert problem in caught.value.message
    assert "THE_POLICY" in caught.value.message


def test_a_file_is_named_with_the_variable(tmp_path: Path) -> None:
    path = tmp_path / "my policy.toml"
    path.write_bytes(b'\xef\xbb\xbfdestroy = "deny"\r\n')
    source = from_variable(str(path), "P", NAMES)
    assert source.name == f"{path} (P)"
    assert source.judge_request(Facts("destroy")).decision == "deny"
    path.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        from_variable(str(path), "P", NAMES)
    with pytest.raises(UsageError, match="cannot read"):
        from_variable(str(tmp_path), "P", NAMES)


def test_a_site_has_a_policy_of_its_own() -> None:
    assert of_site("w", {"read_only": False}, NAMES) == []
    both = Policy(of_site("w", {"read_only": True, "policy": {"read": "ask"}}, NAMES))
    assert [both.judge_request(Facts(each)).decision for each in CLASSES] == ["ask", "deny", "deny"]  # type: ignore[arg-type]
    text = Policy(of_site("w", {"policy": "destroy=deny"}, NAMES)).judge_request(Facts("destroy"))
    assert text.source == "the policy of site 'w'"


class Machine:
    """The file of the machine, somewhere else."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, doubt: str | None = None) -> None:
        self.path = path
        self.warnings: list[str] = []
        monkeypatch.setattr(load, "system_file", lambda: str(path))
        monkeypatch.setattr(load, "why_not_administrators", lambda _: doubt)

    def policy(self) -> Policy:
        return load_policy("P", {"P": "destroy=ask"}, NAMES, warn=self.warnings.append)


def test_the_machines_file_holds_for_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path / "policy.toml", monkeypatch)
    assert machine.policy().judge_request(Facts("destroy")).source == "P"
    machine.path.write_text('destroy = "deny"\n')
    assert machine.policy().judge_request(Facts("destroy")).source == str(machine.path)
    machine.path.write_text("destroy = 1")
    with pytest.raises(CallsheetError, match="destroy: expected one of"):
        machine.policy()


@pytest.mark.parametrize("content", [b"\xff", None])
def test_a_machines_file_that_cannot_be_read_stops_everything(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "policy.toml", monkeypatch)
    if content is None:
        machine.path.mkdir()
    else:
        machine.path.write_bytes(content)
    with pytest.raises(NotAllowed):
        machine.policy()


def test_a_file_that_is_not_the_administrators_is_ignored_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "policy.toml", monkeypatch, doubt="it belongs to somebody")
    machine.path.write_text('destroy = "deny"\n')
    assert machine.policy().judge_request(Facts("destroy")).decision == "ask"
    assert machine.warnings == [f"the policy {machine.path} is ignored: it belongs to somebody"]
