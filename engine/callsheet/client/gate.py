"""The gate that every request passes before it is sent, whoever built it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from ..errors import CallsheetError, NotAllowed
from ..policy.facts import Facts
from ..policy.policy import Policy, PolicyVerdict
from ..urls import url_origin
from .request.model import Request
from .request.safety import Meaning, Templates, meaning, named_in

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from .request.call import Call


class ApprovalRequest(NamedTuple):
    """What a person is asked before a request is sent, and all that is known of it."""

    text: str
    request: Request
    facts: Facts
    verdict: PolicyVerdict


# True where a person agreed, False where one did not; None where there is nobody to ask.
Ask = Callable[[ApprovalRequest], bool | None]


def ask_nobody(_question: ApprovalRequest) -> None:
    """Where nobody can be asked."""


class Gate:
    """`site` is the site's name, `known_as` what else rules may call it; `ask` asks a person."""

    def __init__(
        self,
        policy: Policy,
        catalog: Catalog | None = None,
        *,
        site: str = "",
        known_as: frozenset[str] = frozenset(),
        ask: Ask = ask_nobody,
    ) -> None:
        self.policy = policy
        self._templates = Templates(catalog) if catalog is not None else None
        self._containers = catalog.all("container") if catalog is not None and policy.names_things else {}
        self._sites = frozenset([site, *known_as]) - {""}
        self._ask = ask
        self._asking = threading.Lock()
        self._allowed: set[Any] = set()  # what a person has agreed to in this run

    def check_policy(self, request: Request) -> None:
        """Raise `NotAllowed` for a request that may not be sent; ask where that is what the policy wants."""
        if not self.policy:
            return
        facts = self.facts(request)
        verdict = self.policy.judge(facts)
        _refuse_denied(request, verdict)
        if verdict.decision == "ask":
            self._confirm(request, facts, verdict)

    def refuse_denied(self, request: Request) -> None:
        """Raise `NotAllowed` for a request that is denied, without asking anybody."""
        _refuse_denied(request, self.judge(request))

    def check_hop(self, request: Request, method: str, url: str) -> None:
        """The same for one message of an exchange: the request itself, or where an answer sends it on to."""
        if not self.policy or (method == request.method and url == request.url):
            self.check_policy(request)
            return
        parts = urlsplit(url)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        root = f"{parts.scheme}://{parts.netloc}"
        self.check_policy(replace(request, method=method, root=root, path=parts.path, query=query, operation=None))

    def judge(self, request: Request) -> PolicyVerdict:
        """What the policy says of a request, without asking anybody."""
        return self.policy.judge(self.facts(request)) if self.policy else PolicyVerdict()

    def facts(self, request: Request) -> Facts:
        found = self._meaning(request)
        sites = self._sites | {url_origin(request.root)}
        named = named_in(self._containers, request, found) if self._containers else {}
        return Facts(found.safety, found.operations, found.methods, found.paths, sites, named, found.unbelieved)

    def _meaning(self, request: Request) -> Meaning:
        if self._templates is not None:
            return meaning(self._templates, request)
        return Meaning(request.safety, frozenset(), frozenset({request.method}), frozenset({request.path}))

    def _confirm(self, request: Request, facts: Facts, verdict: PolicyVerdict) -> None:
        """One question for each operation of a run, not for each of its requests."""
        key = (verdict, facts.safety, facts.operations or facts.paths)
        with self._asking:
            if key in self._allowed:
                return
            what = f"{request.method} {request.path}"
            text = f"{what}?" if request.name == what else f"{request.name}: {what}?"
            answer = self._ask(ApprovalRequest(f"{text} ({verdict})", request, facts, verdict))
            if answer is None:
                raise unasked_error(request.name, verdict)
            if not answer:
                raise NotAllowed(f"{request.name}: not confirmed, not sent")
            self._allowed.add(key)


def facts_of(call: Call) -> Facts:
    """What is known of an operation without arguments."""
    operations, methods = frozenset({call.id}), frozenset({call.method})
    return Facts(call.safety, operations, methods, paths=None, sites=None, named=None)


def _refuse_denied(request: Request, verdict: PolicyVerdict) -> None:
    if verdict.decision == "deny":
        raise policy_error(request.name.strip(), verdict)


def policy_error(what: str, verdict: PolicyVerdict) -> CallsheetError:
    details = [f"reason: {verdict.reason}"] if verdict.reason else []
    return NotAllowed(f"{what}: denied by the policy ({verdict})", details=details)


def unasked_error(what: str, verdict: PolicyVerdict) -> CallsheetError:
    details = [f"reason: {verdict.reason}"] if verdict.reason else []
    hint = "run it at a terminal, where a person can answer"
    return NotAllowed(
        f"{what}: the policy wants a person to confirm this ({verdict}), and nobody can be asked here",
        hint=hint,
        details=details,
    )
