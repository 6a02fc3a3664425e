"""A site that speaks every way of signing in, its vendor's gateway, and an OAuth 2.0 authorization server.

All of it answers at one address; `overlay` is the definitions that point a program there instead of at the vendor.
Whatever a test wants to be different is an attribute, set back by `reset`.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from support.canary import CANARY, CLIENT_SECRET, TOKEN
from support.canary import basic as pair
from support.server import Received, Scripted, Server, reply

SCOPED = f"{CANARY}-scoped-token"
PAT = f"{CANARY}-pat"
WIKI_PAT = f"{CANARY}-wiki-pat"
EMAIL = "robin@example.org"
CLIENT_ID = "app-1"
CLOUD_ID = "cloud-1"

OVERLAY = """
[service.jira]
gateway = "{url}/ex/jira/{{cloudId}}"

[service.confluence]
gateway = "{url}/ex/confluence/{{cloudId}}"

[auth.oauth2.oauth]
authorize = "{url}/authorize"
token = "{url}/oauth/token"
sites = "{url}/oauth/token/accessible-resources"
"""
ME = {"accountId": "a1", "displayName": "Robin Sample", "active": True}
ANSWERS: dict[str, Any] = {
    "/rest/api/3/myself": ME,
    "/rest/api/2/myself": {"name": "robin", "displayName": "Robin Sample"},
    "/rest/api/3/serverInfo": {"deploymentType": "Cloud", "version": "1001.0.0"},
    "/rest/api/2/serverInfo": {"deploymentType": "Server", "version": "9.12.1"},
    "/rest/api/3/instance/license": {"applications": [{"id": "jira-software", "plan": "PAID"}]},
    "/rest/agile/1.0/board": {"values": [], "startAt": 0, "maxResults": 1, "isLast": True},
    "/rest/servicedeskapi/servicedesk": {"values": [], "size": 0, "start": 0, "limit": 1, "isLastPage": True},
    "/wiki/api/v2/spaces": {"results": [], "_links": {}},
    "/wiki/rest/api/user/current": {"displayName": "Robin Sample"},
    "/rest/api/user/current": {"displayName": "Robin Sample"},
}


class FakeSite(Server):
    trusted = True  # it is whom the credentials are for

    def __init__(self) -> None:
        super().__init__([], None)
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        self.requests.clear()
        self.deployment = "cloud"
        self.context = ""  # the path that data center products live under
        self.product = "jira"
        self.hidden = False  # detection is answered 403
        self.headers: dict[str, str] = {}  # of every answer of the site
        self.closed: dict[str, int] = {}  # path → status instead of the answer
        self.public: set[str] = set()  # paths that are answered to strangers too
        self.site_accepts = {pair(EMAIL, TOKEN)}
        self.gateway_accepts = {pair(EMAIL, TOKEN), pair(EMAIL, SCOPED)}
        self.scopes = True  # the scoped token has the scopes it needs
        self.refuses: str | None = None  # error code of the authorisation endpoint
        self.wrong_state = False
        self.lifetime = 3600
        self.sites = [{"id": CLOUD_ID, "url": self.url, "scopes": ["read:jira-work"]}]
        self.codes: dict[str, dict[str, str]] = {}
        self.access_tokens: set[str] = set()
        self.refresh_tokens: set[str] = set()
        self.renewals = 0

    def overlay(self) -> str:
        return OVERLAY.format(url=self.url)

    def belongs(self, part: str, request: Received) -> bool:
        """The authorization server is told the application's secret, the code and the refresh token in a form."""
        return super().belongs(part, request) or (part, request.path) == ("body", "/oauth/token")

    def answer(self, request: Received) -> Scripted:
        with self.lock:
            self.requests.append(request)
            if request.path == "/authorize":
                return self._authorize(request)
            if request.path == "/oauth/token":
                return self._token(request)
            if request.path == "/oauth/token/accessible-resources":
                return self._resources(request)
            if request.path.startswith("/ex/"):
                _, _, _, cloud_id, rest = request.path.split("/", 4)
                return self._gateway(request, cloud_id, f"/{rest}")
            found = self._site(request)
            found.headers.update(self.headers)
            return found

    def _site(self, request: Received) -> Scripted:
        path = request.path.removeprefix(self.context)
        if self.context and path == request.path:
            return reply(404, text="<html><title>Not here</title></html>", headers={"Content-Type": "text/html"})
        detected = self._detection(path)
        if detected is not None:
            return detected
        if path in self.closed:
            return reply(self.closed[path], json={"errorMessages": ["not for you"]})
        if request.headers.get("authorization") not in self.site_accepts and path not in self.public:
            return reply(401, json={"message": "who are you?"})
        return reply(json=ANSWERS[path]) if path in ANSWERS else reply(404, json={"errorMessages": ["no such path"]})

    def _detection(self, path: str) -> Scripted | None:
        known = {"/_edge/tenant_info": "cloud", "/rest/applinks/1.0/manifest": "datacenter"}
        if path not in known:
            return None
        if self.hidden:
            return reply(403, text="go away")
        if known[path] != self.deployment:
            return reply(404, json={})
        body = {"cloudId": CLOUD_ID} if self.deployment == "cloud" else {"typeId": self.product, "version": "9.12"}
        return reply(json=body)

    def _gateway(self, request: Received, cloud_id: str, path: str) -> Scripted:
        given = request.headers.get("authorization", "")
        known = given in self.gateway_accepts or given.removeprefix("Bearer ") in self.access_tokens
        if cloud_id != CLOUD_ID or not known:
            return reply(401, json={"code": 401, "message": "Unauthorized"})
        if not self.scopes:
            return reply(401, json={"code": 401, "message": "Unauthorized; scope does not match"})
        if path in self.closed:
            return reply(self.closed[path], json={"code": self.closed[path], "message": "not for you"})
        return reply(json=ANSWERS[path]) if path in ANSWERS else reply(404, json={"message": "no such path"})

    def _authorize(self, request: Received) -> Scripted:
        asked = dict(parse_qsl(urlsplit(request.target).query))
        wanted = {"response_type": "code", "client_id": CLIENT_ID, "code_challenge_method": "S256"}
        wrong = [name for name, value in wanted.items() if asked.get(name) != value]
        if wrong or "offline_access" not in asked["scope"].split() or asked["audience"] != "api.atlassian.com":
            return reply(400, text=f"wrong: {wrong} {asked}")
        state = "forged" if self.wrong_state else asked["state"]
        if self.refuses:
            back = {"error": self.refuses, "error_description": "the person said no", "state": state}
        else:
            code = f"{CANARY}-code-{secrets.token_hex(8)}"
            self.codes[code] = asked
            back = {"code": code, "state": state}
        return reply(302, headers={"Location": f"{asked['redirect_uri']}?{urlencode(back)}"})

    def _token(self, request: Received) -> Scripted:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        if form.get("client_id") != CLIENT_ID or form.get("client_secret") != CLIENT_SECRET:
            return reply(401, json={"error": "invalid_client", "error_description": "unknown client"})
        if form["grant_type"] == "authorization_code":
            return self._redeem(form)
        if form.get("refresh_token") not in self.refresh_tokens:
            return reply(403, json={"error": "invalid_grant", "error_description": "unknown refresh token"})
        self.refresh_tokens.remove(form["refresh_token"])
        self.renewals += 1
        return self._issue()

    def _redeem(self, form: dict[str, str]) -> Scripted:
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if not asked or asked["redirect_uri"] != form["redirect_uri"] or asked["code_challenge"] != challenge:
            return reply(403, json={"error": "invalid_grant", "error_description": "wrong code"})
        return self._issue()

    def _issue(self) -> Scripted:
        # As long as real ones, which key stores do not take in one piece.
        access = f"{CANARY}-access-{secrets.token_hex(8)}-" + "x" * 2000
        refresh = f"{CANARY}-refresh-{secrets.token_hex(8)}"
        self.access_tokens.add(access)
        self.refresh_tokens.add(refresh)
        return reply(
            json={
                "access_token": access,
                "refresh_token": refresh,
                "expires_in": self.lifetime,
                "token_type": "Bearer",
                "scope": "offline_access read:jira-work",
            }
        )

    def _resources(self, request: Received) -> Scripted:
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self.access_tokens:
            return reply(401, json={"message": "Unauthorized"})
        return reply(json=self.sites)


__all__ = ["CANARY", "CLIENT_SECRET", "TOKEN", "FakeSite", "pair"]
