"""Shapes of what receives: listeners, sources, events, routes, and the handlers that they start."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .base import (
    Expression,
    HeaderName,
    HelpText,
    ItemsExpression,
    KeyRule,
    KeysOf,
    Name,
    Rules,
    Shape,
    Template,
    Value,
    Words,
    file_path,
    fitting,
    pattern_key,
    reference_to,
    seeing_names,
)

# Shapes of what receives: listeners, sources, events, routes.


Duration = Annotated[
    str,
    fitting(
        r"^(\d*[1-9]\d*(\.\d+)?|0+\.\d*[1-9]\d*)(ms|s|m|h|d)$",
        "a number above 0 and a unit: 250ms, 10s, 5m, 1h, 2d",
    ),
    Field(description="A number above 0 and a unit: 250ms, 10s, 5m, 1h, 2d."),
]
Wait = Annotated[
    str,
    fitting(r"^\d+(\.\d+)?(ms|s|m|h|d)$", "a number and a unit: 0s, 250ms, 10s"),
    Field(description="A number and a unit, or 0s for no time at all."),
]
_SEGMENT = r"[^/:?#*{}\s][^/?#*{}\s]*"
UrlPath = Annotated[
    str,
    fitting(rf"^/(?:{_SEGMENT}(?:/{_SEGMENT})*/?)?$", "a path that begins with /, without patterns and parameters"),
    Field(description="Path of the URL, exactly as it is asked for."),
]
Count = Annotated[int, Field(ge=1)]


OF_AN_EVENT = ("id", "event_type", "event_time", "source", "body", "payload", "headers", "query")
OF_A_RUN = (*OF_AN_EVENT, "result")
_OF_A_DELIVERY = ("headers", "query", "payload")
_OF_A_SAMPLE = ("id", "type", "time", "body")


class Paths(Shape, total=False):
    """Where the server answers beside the paths of its sources."""

    health: Required[UrlPath]
    ready: Required[UrlPath]
    metrics: Required[UrlPath]


class RetryKeys(Shape, total=False):
    """When an event is run again from an inbox or a queue after a failure."""

    max_attempts: Annotated[Count, Field(description="Runs from an inbox before an event is given up.")]
    backoff: Annotated[Duration, Field(description="Before the second run from an inbox; doubles.")]
    backoff_max: Annotated[Duration, Field(description="The longest wait between two runs.")]
    give_up_after: Annotated[Duration, Field(description="An older event is not run again.")]


class ListenerDefinition(RetryKeys, total=False):
    """A server's own paths and its limits."""

    paths: Required[Paths]
    max_body: Required[Annotated[int, Field(ge=1, description="Largest body, in bytes.")]]
    max_in_flight: Annotated[
        int,
        Field(
            ge=1,
            description="Memory for deliveries, in bytes; default: 64 MiB, or less where memory is limited, and always "
            "enough for one of the largest bodies.",
        ),
    ]
    max_header: Required[Annotated[int, Field(ge=1024, description="Largest request line and headers, in bytes.")]]
    max_connections: Required[Annotated[int, Field(ge=1, description="Connections open at the same time.")]]
    header_timeout: Required[Annotated[Duration, Field(description="To send the request line and headers.")]]
    body_timeout: Required[Annotated[Duration, Field(description="To send the body.")]]
    idle_timeout: Required[Annotated[Duration, Field(description="Between two requests of a connection.")]]
    drain_timeout: Required[Annotated[Wait, Field(description="For running work, once asked to stop.")]]
    concurrency: Required[Annotated[int, Field(ge=1, description="Handlers running at the same time.")]]
    queue_size: Required[Annotated[int, Field(ge=0, description="Runs that may wait for their turn.")]]
    queue_timeout: Required[Annotated[Duration, Field(description="Longest wait for a turn; a 503 afterwards.")]]
    put_timeout: Required[Annotated[Duration, Field(description="Longest wait for an inbox; a 503 afterwards.")]]
    timeout: Required[Annotated[Duration, Field(description="Time limit of a handler that states none.")]]
    dedup_size: Required[Annotated[int, Field(ge=1, description="Ids of handled events kept in memory.")]]
    dedup_window: Required[Annotated[Duration, Field(description="How long a handled event is known as such.")]]


OwnFile = Annotated[
    str,
    fitting(r"^(/|~|[A-Za-z]:[\\/])", "an absolute path, or one that begins with ~"),
    Field(description="A file: an absolute path, or one that begins with ~."),
]


_Scheme = Annotated[str, fitting("^[a-z][a-z0-9+.-]*$", "the scheme of an address: https")]
_Schemes = Annotated[list[_Scheme], Field(min_length=1)]


class QueueTls(Shape, total=False):
    """Files (PEM) for TLS with a queue's server."""

    ca: Annotated[OwnFile, Field(description="Who may vouch for the server; default: whom the system believes.")]
    cert: Annotated[OwnFile, Field(description="The certificate to show, with its chain.")]
    key: Annotated[OwnFile, Field(description="Its private key, where the file of the certificate does not hold it.")]


class QueueDefinition(Shape, total=False):
    """A kind of queue beyond this machine. A queue that is made gets these limits; one that exists keeps its own."""

    driver: Required[Annotated[str, reference_to("engine:queue", description="What speaks with the server.")]]
    schemes: Required[Annotated[_Schemes, Field(description="How its addresses begin.")]]
    subject: Required[
        Annotated[
            str,
            fitting(r"^[A-Za-z0-9_-]+$", "letters, digits, _ and -"),
            Field(description="First word of its subjects."),
        ]
    ]
    replicas: Required[Annotated[int, Field(ge=1, le=5, description="Servers of a cluster that keep each event.")]]
    max_bytes: Required[Annotated[int, Field(ge=1024, description="What waits may take so much room, in bytes.")]]
    max_events: Annotated[int, Field(ge=1, description="So many events may wait.")]
    max_running: Required[Annotated[int, Field(ge=1, description="So many may run or wait for a repetition.")]]
    dedup_window: Required[Annotated[Duration, Field(description="How long a repeated delivery is known as such.")]]
    lease: Required[
        Annotated[Duration, Field(description="After it, an event of a worker that fell silent runs again.")]
    ]
    state_age: Required[Annotated[Duration, Field(description="How long is kept what a failed event did already.")]]
    connect_timeout: Required[Annotated[Duration, Field(description="Longest wait for a connection.")]]
    credentials: Annotated[
        OwnFile, Field(description="What signs in: a .creds file, the seed of an nkey, USER:PASSWORD or a token.")
    ]
    tls: QueueTls
    monitor: Annotated[
        str,
        fitting("^https?://", "an address that begins with https:// or http://"),
        Field(description="The server's monitoring port, which says how often it syncs."),
    ]


# Whoever takes the key for the secret itself finds it in no error.
Variable = Annotated[str, fitting("^[A-Za-z_][A-Za-z0-9_]*$", "the name of a variable: MY_SECRET", quoted=False)]


class BrokerDefinition(Shape, total=False):
    """A kind of broker that `publish` hands events to."""

    title: Required[HelpText]
    driver: Required[Annotated[str, reference_to("engine:broker", description="What speaks with it.")]]
    schemes: Required[Annotated[_Schemes, Field(description="How its addresses begin.")]]
    tls_schemes: Annotated[_Schemes, Field(description="How they begin where the connection is encrypted.")]
    destination: Required[
        Annotated[
            list[Literal["queue", "exchange", "stream", "topic"]],
            Field(min_length=1, description="The keys of `publish` that say where to; one of them is given."),
        ]
    ]
    max_bytes: Annotated[Count, Field(description="The largest message.")]
    header_prefixes: Annotated[dict[str, str], Field(description="Headers that begin so begin otherwise there.")]
    login: Annotated[
        str, Field(description="Where its client itself finds credentials. Default: `login` of the handler has them.")
    ]


Member = Annotated[
    str,
    fitting(r"^[^.\s$\[\]]+(\.[^.\s$\[\]]+)*$", "names with dots between: signature.value, items.0.token"),
    Field(
        description="Or the member of the JSON body that holds it: names and places of lists, with dots between.",
    ),
]


class Pick(Shape, total=False):
    """A value in a header, or in the body."""

    header: HeaderName
    member: Member
    separator: Annotated[str, Field(min_length=1, description="Splits the header into parts.")]
    prefix: Annotated[str, Field(description="Only parts that start with it count; it is taken off.")]


class SecretForm(Shape, total=False):
    """How a secret is written down, where it is not the key itself."""

    prefix: str
    encoding: Literal["hex", "base64"]


_SIGNED = (
    "What is signed; sees headers, timestamp, url and, as the raw bytes, {body}, or, instead of it,"
    " form: the fields of a form, each with name and value, or payload: the JSON body. Default: {body}."
)


class SignedParts(Pick, total=False):
    """What every signature has. Several signatures may be valid at once."""

    encoding: Required[Literal["hex", "base64"]]
    timestamp: Annotated[
        Pick, Field(description="Where the time of signing is: seconds or milliseconds since 1970, or ISO 8601.")
    ]
    tolerance: Annotated[Duration, Field(description="How far that time may be from now.")]
    env: Annotated[Variable, Field(description="Environment variable with secrets or public keys, one a line.")]


class Signed(SignedParts, total=False):
    """What every signature by a key has. Several keys may be valid at once."""

    signed: Annotated[
        Template, seeing_names("headers", "timestamp", "url", "body", "form", "payload"), Field(description=_SIGNED)
    ]


class Hmac(Signed, total=False):
    """A signature made with a shared secret."""

    algorithm: Required[Literal["sha1", "sha256", "sha384", "sha512"]]
    secret: SecretForm


class PublicKey(Signed, total=False):
    """A signature made with a private key that only the sender has."""

    algorithm: Required[Literal["ed25519", "ecdsa-p256-sha256"]]
    key: Annotated[SecretForm, Field(description="How a public key is written down: raw bytes (ed25519) or DER.")]


AllowedAddresses = Annotated[str, pattern_key(description="Addresses that may be asked, as a whole: a pattern.")]


class CertificateDefinition(SignedParts, total=False):
    """A signature (RSA, SHA-256) by a key whose certificate lies at an address that the delivery names.

    What `env` holds is no key, but says for whom a delivery is: it is signed along.
    """

    signed: Required[
        Annotated[
            Template,
            seeing_names("headers", "timestamp", "url", "body", "form", "payload", "secret", "crc32"),
            Field(description=f"{_SIGNED} Also secret: a line of `env`, and, instead of {{body}}, crc32 of the body."),
        ]
    ]
    address: Required[Annotated[Pick, Field(description="Where the address of the certificate is.")]]
    allowed: Required[AllowedAddresses]


class PlainTokenDefinition(Shape, total=False):
    """A secret that is sent as it is. It proves the sender, not what is sent."""

    header: Annotated[HeaderName, Field(description="The header that holds it.")]
    query: Annotated[Name, Field(description="Or the member of the query; addresses are often logged on the way.")]
    member: Member
    prefix: Annotated[str, Field(description="The text before it in the header.")]
    env: Annotated[Variable, Field(description="Environment variable with secrets, one a line.")]


class ChallengeDefinition(Shape, total=False):
    """A question that a sender asks before it sends events.

    One in a POST must be proved as events are, unless `when` reads nothing of the body.
    """

    method: Literal["GET", "HEAD", "POST"]
    when: Annotated[
        Expression,
        seeing_names(*_OF_A_DELIVERY),
        Field(description="Whether it is one; sees payload, headers, query. Default: every HEAD is."),
    ]
    token: Annotated[PlainTokenDefinition, Field(description="The secret that it must hold.")]
    sign: Annotated[
        Template,
        seeing_names(*_OF_A_DELIVERY),
        Field(description="A text that is signed with the secret of `hmac`; the answer sees it as signature."),
    ]
    visit: Annotated[
        Template,
        seeing_names(*_OF_A_DELIVERY),
        Field(description="An address that is asked with GET before the answer: the sender wants it as a consent."),
    ]
    allowed: AllowedAddresses
    reply: Annotated[
        Value,
        seeing_names(*_OF_A_DELIVERY, "signature"),
        Field(description="The answer: a text, or a table as JSON; sees what `when` sees, and signature."),
    ]


class Jwt(Shape, total=False):
    """A signed token in the place of the body, whose claims are the payload, or in a header, beside the body.

    One in a header proves who sends, and not what is sent.
    """

    header: HeaderName
    prefix: Annotated[str, Field(description="The text before the token in the header.")]
    claims: Annotated[
        dict[str, Variable],
        Field(description="Claim → environment variable with the values that it may have, one a line."),
    ]

    algorithms: Required[
        Annotated[
            list[Literal["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA", "HS256"]], Field(min_length=1)
        ]
    ]
    env: Annotated[Variable, Field(description="Instead of a key set: a variable with secrets for HS256, one a line.")]
    constants: Annotated[
        dict[str, bool | str], Field(description="Claims that are the same in all tokens that are meant.")
    ]
    request: Annotated[
        str, Field(description="The claim with the query string hash: of the request's method, path and query.")
    ]
    cache: Annotated[Duration, Field(description="Age at which a key set is fetched again.")]
    grace: Annotated[Duration, Field(description="Age up to which it serves while it cannot be fetched.")]
    leeway: Annotated[Duration, Field(description="Between the sender's clock and this one.")]
    vendor: Annotated[str, Field(description="Address of the vendor's key set.")]
    switch: Annotated[
        str, Field(description="Option of the listener that chooses the vendor's key set. Default: it is used.")
    ]
    unquote: Annotated[bool, Field(description="The token may stand in JSON quotes.")]
    issuer: Annotated[list[str], Field(min_length=1)]
    audience: Annotated[list[str], Field(min_length=1)]
    registered: Annotated[list[str], Field(description="Claims that are never part of an event's body.")]


class SourceDefinition(Shape, total=False):
    """Where deliveries arrive, how one is proved genuine, and how an event is read out of it.

    Expressions see `headers` (lower-case names), `query`, and `payload`: the JSON body, or a token's claims.
    """

    title: Required[HelpText]
    path: Required[UrlPath]
    type: Required[Annotated[Expression, Field(json_schema_extra={"sees": list(_OF_A_DELIVERY), "constant": True})]]
    id: Annotated[Expression, seeing_names(*_OF_A_DELIVERY)]
    time: Annotated[Expression, seeing_names(*_OF_A_DELIVERY)]
    body: Annotated[
        Expression,
        Field(
            description="What an event is about. Default: all of the payload; of a token's claims those of its own.",
            json_schema_extra={"sees": list(_OF_A_DELIVERY)},
        ),
    ]
    events: Annotated[
        ItemsExpression,
        seeing_names(*_OF_A_DELIVERY),
        Field(
            description="A delivery is a list of events: where it is. To type, id, time and body, payload is one event."
        ),
    ]
    dedup_ignore: Annotated[list[str], Field(description="Members that differ between two deliveries of one event.")]
    hmac: Hmac
    public_key: PublicKey
    token: PlainTokenDefinition
    certificate: CertificateDefinition
    jwt: Jwt
    content: Annotated[
        Literal["json", "form", "any"],
        Field(description="What a body is: JSON (default), a form, or either: JSON begins with a brace."),
    ]
    form_field: Annotated[Name, Field(description="The field of a form that holds the payload as JSON.")]
    challenge: Annotated[list[ChallengeDefinition], Field(min_length=1)]
    success: Annotated[Literal[200, 201, 202, 204], Field(description="Status of the answer to an event: 200.")]
    unverified: Annotated[
        bool | Literal["local"],
        Field(
            description="Served also without a secret or a key set; anyone can send its events then. "
            "local: only where nothing is configured and no other host can connect."
        ),
    ]
    setup: Annotated[list[str], Field(min_length=1, description="What to do at the sender, for its page.")]
    retry_window: Annotated[
        Duration, Field(description="How long the sender repeats a delivery that was not answered.")
    ]
    sample: Annotated[
        Value, seeing_names(*_OF_A_SAMPLE), Field(description="A delivery made here; sees id, type, time, body.")
    ]
    sample_headers: Annotated[
        dict[HeaderName, Template], seeing_names(*_OF_A_SAMPLE), Field(description="Headers of a delivery made here.")
    ]


class EventDefinition(Shape, total=False):
    """One type of event, or several by a pattern.

    An event is of the definition with its very type, wherever that stands, else of the first whose pattern fits.
    """

    source: Required[Annotated[str, reference_to("source", description="Where it comes from.")]]
    type: Annotated[
        str,
        fitting(r"^[^\\|,]+$", "one type, or a pattern for several"),
        Field(description="What the source calls it, or a pattern with *; default: the id."),
    ]
    category: Required[HelpText]
    summary: Annotated[Template, Field(description="One line about an event; sees its body.")]
    requires: Annotated[
        Expression,
        seeing_names(*OF_AN_EVENT),
        Field(description="What holds for every event of this type; a delivery for which it does not: 400."),
    ]
    sample: Annotated[dict[str, Any], Field(description="A body to try things with.")]


class EnvelopeDefinition(Shape, total=False):
    """A form in which events are sent on."""

    title: Required[HelpText]
    requires: Annotated[
        Expression,
        seeing_names(*OF_AN_EVENT),
        Field(description="What an event cannot be sent without; else a failure."),
    ]
    send: Required[
        Annotated[
            Value, seeing_names(*OF_AN_EVENT), Field(description="What is sent: a text, or a table or list as JSON.")
        ]
    ]
    headers: Annotated[
        dict[HeaderName, Template], seeing_names(*OF_AN_EVENT), Field(description="Headers for `forward`.")
    ]


class CircuitDefinition(Shape, total=False):
    """When a handler that fails is left alone. A run that is not made takes no place and counts as no attempt."""

    failures: Required[Annotated[Count, Field(description="So many in a row.")]]
    pause: Required[Annotated[Duration, Field(description="So long. Then one run is made, which decides.")]]


class HandlerDefinition(RetryKeys, total=False):
    """Something to do with an event. Placeholders see id, event_type, event_time, source, body, payload, headers."""

    handler: Required[Annotated[str, reference_to("engine:handler", description="What is done.")]]
    name: Annotated[
        Name,
        fitting(r"^[^/]*$", "no /: it stands behind the route's name, as in ROUTE/HANDLER"),
        Field(description="Told in logs and kept in an inbox; default: its place in the route."),
    ]
    timeout: Duration
    concurrency: Annotated[Count, Field(description="Runs at the same time.")]
    rate: Annotated[
        str,
        fitting(r"^[1-9]\d*/(0*[1-9]\d*(\.\d+)?|0+\.\d*[1-9]\d*)?(ms|s|m|h|d)$", "runs in a time: 10/s, 100/5m"),
        Field(description="Runs in a time, evenly spread: 10/s, 100/5m."),
    ]
    circuit: CircuitDefinition


class ReplyDefinition(Shape, total=False):
    """The answer to a delivery. It sees `result`, what the handler gave, beside what placeholders of handlers see."""

    status: Annotated[Value, seeing_names(*OF_A_RUN), Field(description="Status: 200; a number, or a placeholder.")]
    headers: Annotated[dict[HeaderName, Template], seeing_names(*OF_A_RUN), Field(description="Headers of the answer.")]
    body: Annotated[
        Value, seeing_names(*OF_A_RUN), Field(description="A text, or a table or list as JSON. Default: nothing.")
    ]


class RouteDefinition(Shape, total=False):
    """Which events go to which handlers."""

    on: Annotated[list[str], Field(min_length=1, description="Types of events, or patterns with *; default: all.")]
    source: Annotated[list[Annotated[str, reference_to("source", description="A source.")]], Field(min_length=1)]
    when: Annotated[
        Expression,
        seeing_names(*OF_AN_EVENT),
        Field(description="A condition; sees what placeholders of handlers see."),
    ]
    order: Annotated[
        Expression,
        seeing_names(*OF_AN_EVENT),
        Field(description="Events for which it has the same value are handled one by one."),
    ]
    concurrency: Annotated[Count, Field(description="Runs of each of its handlers at the same time.")]
    do: Required[Annotated[list[Annotated[HandlerDefinition, KeysOf("handler", "handler")]], Field(min_length=1)]]
    reply: ReplyDefinition


# A rule holds wherever a table of that shape stands.
RULES: Rules = {
    "SourceDefinition": (
        KeyRule("hmac", without=("public_key", "token", "certificate")),
        KeyRule("public_key", without=("token", "certificate")),
        KeyRule("token", without=("certificate",)),
        KeyRule("form_field", needs=("content",)),
        KeyRule("events", without=("jwt",)),
    ),
    "Pick": (KeyRule("header", without=("member",)), KeyRule("member", without=("separator", "prefix"))),
    **dict.fromkeys(("Hmac", "PublicKey", "CertificateDefinition"), (KeyRule("header", without=("member",)),)),
    "PlainTokenDefinition": (
        KeyRule("header", without=("query", "member")),
        KeyRule("query", without=("prefix", "member")),
        KeyRule("member", without=("prefix",)),
    ),
    "HandlerDefinition": (KeyRule("send", without=("input", "envelope")), KeyRule("envelope", without=("input",))),
    "CallsFunction": (KeyRule("site", needs=("program",)),),
    "QueueTls": (KeyRule("key", needs=("cert",)),),
    "LoginDefinition": (KeyRule("env", without=("secret",)),),
    "ChallengeDefinition": (KeyRule("visit", needs=("allowed",)), KeyRule("allowed", needs=("visit",))),
    "Jwt": (
        KeyRule("env", without=("vendor",)),
        KeyRule("switch", needs=("vendor",)),
        KeyRule("prefix", needs=("header",)),
        KeyRule("unquote", without=("header",)),
    ),
}

KINDS: dict[str, Any] = {
    "listener": ListenerDefinition,
    "queue": QueueDefinition,
    "broker": BrokerDefinition,
    "source": SourceDefinition,
    "event": EventDefinition,
    "envelope": EnvelopeDefinition,
    "route": RouteDefinition,
}


# The tables of handlers: what each kind has beside the keys of all. A handler's class names its own.


_Run = Annotated[
    Words | Annotated[list[Template], Field(min_length=1)],
    seeing_names(*OF_AN_EVENT),
    Field(description="exec: program and arguments. command: words, or the whole argument list."),
]
_Input = Annotated[
    Literal["event", "payload", "raw", "none"],
    Field(description="On standard input: the event (default), the payload, the bytes as received, nothing."),
]
_Send = Annotated[
    Value, seeing_names(*OF_AN_EVENT), Field(description="What is sent instead: a text, or a table or list as JSON.")
]
_Envelope = Annotated[str, reference_to("envelope", description="The form in which the event is sent instead.")]
_Secrets = Annotated[
    list[Variable], Field(description="exec, command: variables with secrets that it gets to see; no others are.")
]
_Success = Annotated[
    Expression,
    seeing_names(*OF_A_RUN),
    Field(description="What holds for a success; sees also `result`, what was given."),
]


class RunsProgram(HandlerDefinition, total=False):
    """The table of `exec`."""

    run: Required[_Run]
    input: _Input
    send: _Send
    envelope: _Envelope
    dir: Annotated[str, file_path(description="exec: working directory. Default: the folder of the routes file.")]
    env: Annotated[
        dict[Variable, Template], seeing_names(*OF_AN_EVENT), Field(description="exec: further environment variables.")
    ]
    secrets: _Secrets
    success: _Success


class CallsFunction(HandlerDefinition, total=False):
    """The table of `python`."""

    call: Required[
        Annotated[str, fitting(r"^[\w.]+:[\w.]+$", "module:function"), Field(description="python: module:function.")]
    ]
    process: Annotated[
        bool, Field(description="python: run it in processes of their own, which are ended when they take too long.")
    ]
    program: Annotated[
        str, Field(description="python: the function gets this program too, as `callsheet.open` gives it to a script.")
    ]
    site: Annotated[str, Field(description="python: the site of that program. Default: the one in use.")]
    success: _Success


class LoginDefinition(Shape, total=False):
    """Where USER:PASSWORD is found. One of the two is given."""

    env: Annotated[Variable, Field(description="An environment variable, which no program of a handler sees.")]
    secret: Annotated[str, Field(description="A name in the key store: webhook secret set NAME.")]
    cleartext: Annotated[
        bool, Field(description="The password may go over the network unencrypted. Default: to this host only.")
    ]


class ForwardsEvent(HandlerDefinition, total=False):
    """The table of `forward`."""

    url: Required[Annotated[Template, seeing_names(*OF_AN_EVENT), Field(description="forward: where to.")]]
    headers: Annotated[
        dict[HeaderName, Template], seeing_names(*OF_AN_EVENT), Field(description="forward: further headers.")
    ]
    login: LoginDefinition
    send: _Send
    envelope: _Envelope
    success: _Success


class PublishesEvent(HandlerDefinition, total=False):
    """The table of `publish`."""

    url: Required[Annotated[str, Field(description="publish: the broker, without a user and a password.")]]
    queue: Annotated[str, Field(min_length=1, description="publish: the queue there.")]
    exchange: Annotated[str, Field(min_length=1, description="publish: the exchange there.")]
    stream: Annotated[str, Field(min_length=1, description="publish: the stream there.")]
    topic: Annotated[str, Field(min_length=1, description="publish: the topic there.")]
    key: Annotated[
        Template,
        seeing_names(*OF_AN_EVENT),
        Field(description="publish: routing key, key of the partition, message group or ordering key."),
    ]
    headers: Annotated[
        dict[HeaderName, Template], seeing_names(*OF_AN_EVENT), Field(description="publish: further headers.")
    ]
    login: LoginDefinition
    send: _Send
    envelope: _Envelope
    success: _Success


class AppendsEvent(HandlerDefinition, total=False):
    """The table of `append`."""

    file: Required[Annotated[str, file_path(description="append: the file, one event a line.")]]
    input: _Input
    send: _Send
    envelope: _Envelope


class RunsCommand(HandlerDefinition, total=False):
    """The table of `command`."""

    program: Required[Annotated[str, Field(description="command: the program that runs.")]]
    run: Required[_Run]
    params: Annotated[
        dict[str, Value], seeing_names(*OF_AN_EVENT), Field(description="command: values of its arguments and options.")
    ]
    input: _Input
    send: _Send
    envelope: _Envelope
    secrets: _Secrets
    success: _Success
