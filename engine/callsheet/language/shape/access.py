"""Shapes of how one signs in: deployments and authentication methods."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .base import (
    Expression,
    HeaderName,
    HeaderText,
    HelpText,
    KeyRule,
    KeysOf,
    LiteralValue,
    Name,
    Rules,
    Shape,
    fitting,
    reference_to,
)


class Question(Shape, total=False):
    """Something to ask a product."""

    call: Required[Annotated[str, reference_to("operation", description="The operation that answers.")]]
    args: Annotated[dict[str, LiteralValue], Field(description="Its parameters: values as they are.")]
    value: Annotated[Expression, Field(description="The answer in words: a text or a list of texts.")]


class Probe(Question, total=False):
    """Asked to find out whether a credential works for a product."""

    person: Annotated[
        Expression,
        Field(
            description="Who is signed in; null or false for a stranger. Where a product of a site has such a probe, "
            "these decide whether a credential is accepted: a list may answer everybody."
        ),
    ]


class Fact(Question, total=False):
    """A question whose answer is worth knowing when something does not work."""

    name: Required[str]


class QuestionHere(Shape, total=False):
    """What is different about a question on one deployment. Another `call` starts afresh."""

    call: Annotated[str, reference_to("operation", description="The operation that answers.")]
    args: dict[str, LiteralValue]
    value: Expression


class ProbeHere(QuestionHere, total=False):
    person: Expression


class FactHere(QuestionHere, total=False):
    name: Required[str]
    remove: Annotated[bool, Field(description="It is not asked there.")]


class Detection(Shape, total=False):
    """A request that tells what kind of installation answers; it is sent without credentials."""

    path: Required[Annotated[str, Field(description="Path below the address that a person gave.")]]
    when: Required[Annotated[Expression, Field(description="True for the reply of such an installation.")]]
    service: Annotated[str, reference_to("service", description="The service that answers; absent: all of them.")]
    version: Annotated[Expression, Field(description="The version, where the reply tells.")]


class Tenant(Shape, total=False):
    """Where a site tells the id that a service's `gateway` takes."""

    path: Required[str]
    id: Required[Expression]


class DeploymentDefinition(Shape, total=False):
    """A kind of installation; its id is the word that `on` tables use."""

    title: Required[HelpText]
    method: Required[Annotated[str, reference_to("auth", description="How one signs in unless said otherwise.")]]
    detect: list[Detection]
    tenant: Tenant


class Consent(Shape, total=False):
    """An OAuth 2.0 authorization server."""

    grant: Annotated[
        Literal["authorization_code", "client_credentials", "device_code"],
        Field(
            description="How access is granted: by a person in a browser (authorization_code, with PKCE; the default), "
            "to the app itself (client_credentials), or by a person with a code on any device (device_code)."
        ),
    ]
    authorize: Annotated[
        str, Field(description="authorization_code: URL that a person's browser opens. Needs `port` and `path`.")
    ]
    device: Annotated[str, Field(description="device_code: URL that gives out codes.")]
    client: Annotated[
        Literal["body", "header"],
        Field(description="Where id and secret of the app are sent: in the form (default), or as Basic authorization."),
    ]
    token: Required[Annotated[str, Field(description="URL where codes and refresh tokens are exchanged.")]]
    params: Annotated[dict[str, str], Field(description="Further parameters of the authorization request.")]
    scopes: Annotated[list[str], Field(description="Asked for unless a site says otherwise.")]
    renew: Annotated[list[str], Field(description="Scopes always asked for, so that access can be renewed.")]
    host: Annotated[
        str,
        fitting(r"^(127\.0\.0\.1|localhost|::1)$", "127.0.0.1, localhost or ::1"),
        Field(description="Loopback address of the redirect URL; default: 127.0.0.1."),
    ]
    port: Annotated[
        int, Field(ge=1, le=65535, description="authorization_code: port of the redirect URL, as registered.")
    ]
    path: Annotated[str, Field(description="authorization_code: path of the redirect URL.")]
    confidential: Annotated[bool, Field(description="The server wants a client secret as well.")]
    register: Annotated[str, Field(description="Page where a person registers an app of their own.")]
    sites: Annotated[str, Field(description="URL that lists the sites a token reaches.")]
    site_url: Annotated[Expression, Field(description="The address of one of these sites.")]
    site_id: Annotated[Expression, Field(description="Its id, as `gateway` takes it.")]
    site_scopes: Annotated[Expression, Field(description="The scopes granted for it.")]


class AuthPart(Shape, total=False):
    """One of several secrets that are presented together."""

    scheme: Required[Annotated[Literal["bearer", "key"], Field(description="How it is presented.")]]
    secret: Annotated[str, Field(description="What the secret is called, in prompts.")]
    header: HeaderName
    query: Name
    cookie: HeaderName
    body: Name
    prefix: HeaderText


class AuthDefinition(Shape, total=False):
    """One way of signing in."""

    title: Required[HelpText]
    scheme: Required[Annotated[str, reference_to("engine:scheme", description="How it is presented.")]]
    secret: Annotated[str, Field(description="What the secret is called, in prompts.")]
    page: Annotated[
        str,
        fitting("^https?://", "an address that begins with https:// or http://"),
        Field(description="Page where a person makes one."),
    ]


class BearerAuth(AuthDefinition, total=False):
    """The table of `bearer`."""

    prefix: Annotated[HeaderText, Field(description='What stands before it in the header; bearer: "Bearer ".')]


class KeyAuth(BearerAuth, total=False):
    """The table of `key`."""

    header: Annotated[HeaderName, Field(description="key: the header that holds it.")]
    query: Annotated[Name, Field(description="key: or the parameter of the query.")]
    cookie: Annotated[HeaderName, Field(description="key: or the cookie.")]
    body: Annotated[
        Name,
        Field(
            description="key: or the member of every body that is a table or a form; `query` is for the others then."
        ),
    ]


class SeveralAuth(AuthDefinition, total=False):
    """The table of `all`."""

    parts: Required[
        Annotated[
            list[AuthPart],
            Field(min_length=2, description="all: several, whose secrets are kept together, one a line."),
        ]
    ]


class ConsentAuth(AuthDefinition, total=False):
    """The table of `oauth2`."""

    oauth: Required[Consent]


_PLACES = ("header", "query", "cookie", "body")
_OF_KEYS = (
    KeyRule("scheme", ("key",), needs=_PLACES),
    KeyRule("header", without=("query", "cookie", "body")),
    KeyRule("query", without=("cookie", "prefix")),
    KeyRule("cookie", without=("body", "prefix")),
    KeyRule("body", without=("prefix",)),
)
RULES: Rules = {
    "KeyAuth": _OF_KEYS,
    "AuthPart": (*_OF_KEYS, KeyRule("scheme", ("bearer",), without=_PLACES)),
    "Consent": (
        KeyRule("token", needs=("authorize", "grant")),
        KeyRule("authorize", needs=("port",), without=("device",)),
        KeyRule("authorize", needs=("path",)),
        KeyRule("grant", ("authorization_code",), needs=("authorize",)),
        KeyRule("grant", ("client_credentials",), without=("authorize", "device", "port", "path")),
        KeyRule("grant", ("device_code",), needs=("device",), without=("authorize", "port", "path")),
    ),
}

KINDS: dict[str, Any] = {
    "auth": Annotated[AuthDefinition, KeysOf("scheme", "scheme")],
    "deployment": DeploymentDefinition,
}
