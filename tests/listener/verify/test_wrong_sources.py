# ruff: noqa: E501 - one row a line
"""Sources, questions and routes that would never work, or would believe anybody: `definitions check` says so."""

from __future__ import annotations

import os
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.cli.builtin.definitions import limit_problems, trial_problems
from callsheet.language.check import problems_in
from callsheet.language.layers import Layer, layers_with
from callsheet.language.load import load_definitions
from callsheet.listener.route_trials import trial_problems_of_routes
from callsheet.listener.simulated_deliveries import make_payload, plain_delivery
from callsheet.listener.source_trials import trial_findings
from callsheet.registry import registered_names

LAYERS = layers_with("lms", ["listener"], {"CALLSHEET_HOME": os.devnull}, own=False)
SOURCE = """\
[source.shop]
title = "Shop"
path  = "/shop"
type  = "payload.kind"
id    = "payload.id"
HMAC
[event."shop.any"]
source   = "shop"
type     = "*"
category = "Shop"
"""
HMAC = 'hmac = { header = "X-Sig", algorithm = "sha256", encoding = "hex", env = "SHOP_SECRET" }'
TIMED = HMAC.replace(" }", ', signed = "{timestamp}.{body}", timestamp = { header = "X-Time" } }')
CERTIFICATE = """certificate = { header = "X-Sig", encoding = "base64", env = "SHOP_ID", signed = "{secret}.{body}", \
address = { header = "X-Cert" }, allowed = 'ALLOWED' }"""
JWT = 'jwt = { header = "Authorization", prefix = "Bearer ", algorithms = ["HS256"], env = "SHOP_SECRET" }'
ROUTE = "[route.a]\nWHEN\ndo = [DO]\n"
EXEC = '{ handler = "exec", run = ["cat"] }'


def checked(folder: Path, text: str) -> list[str]:
    """What `definitions check` says of these, beside all that `lms` has."""
    (folder / "own.toml").write_text(f"language = 2\n{text}", encoding="utf-8")
    definitions = load_definitions([*LAYERS, Layer(str(folder))])
    own = {key for key, each in definitions.items() if not each.files[-1].shipped}
    found = problems_in(definitions, {}, registered_names(), own)
    trials = (limit_problems(definitions), trial_problems(definitions), trial_problems_of_routes(definitions, {}))
    tried = () if found else chain.from_iterable(trials)
    return [each.finding.text for each in (*found, *tried)]


def of_source(more: str = HMAC, *, old: str = "", new: str = "") -> str:
    return SOURCE.replace("HMAC", more).replace(old, new) if old else SOURCE.replace("HMAC", more)


SAMPLED = """\
[event."shop.sold"]
source   = "shop"
type     = "sold"
category = "Shop"
sample   = { number = 4, paid = true, customer = { name = "Kim" }, lines = [{ sku = "RYE" }], tags = ["gift"], a-b = { c = "1" } }
"""


def of_sample(when: str, source: str = "", type: str = "sold") -> str:
    """A route for an event of one's own with a sample; the source has a body of its own, or what `source` says."""
    body = source or 'body = "payload.order"'
    own = of_source(HMAC).partition("[event")[0].replace("id    =", f"{body}\nid    =")
    return own + SAMPLED + of_route(when=f'source = ["shop"]\non = ["{type}"]\nwhen = "{when}"')


def of_route(do: str = EXEC, when: str = "", after: str = "") -> str:
    return ROUTE.replace("WHEN", when).replace("DO", do) + after


def hmac(**changes: str) -> str:
    return HMAC.replace(" }", "".join(f", {key} = {value}" for key, value in changes.items()) + " }")


@pytest.mark.parametrize(
    "text",
    [
        of_source(),
        of_source(TIMED),
        of_source(
            hmac(
                prefix='"v1="',
                separator='","',
                timestamp='{ header = "X-Sig", prefix = "t=", separator = "," }',
                signed='"{timestamp}.{body}"',
            )
        ),
        of_source(hmac(tolerance='"3d"', timestamp='{ header = "X-Time" }', signed="'{headers.\"x-time\"}.{body}'")),
        of_source(CERTIFICATE.replace("ALLOWED", r"https://[a-z0-9-]+\.shop\.example(\.cn)?/.+\.pem")),
        of_source(JWT.replace(" }", ', issuer = ["shop"], constants = { iss = "shop" } }')),
        of_source(JWT.replace(" }", ', audience = ["listener"], claims = { sub = "SHOP_SUBJECT" } }')),
        of_source(HMAC + '\nevents = "payload.events"', old='"payload.id"', new="'headers.\"x-id\"'"),
        "[extend.listener.webhook]\nmax_body = 1048576\nmax_in_flight = 4194304\n",
        of_source('token = { header = "Authorization", prefix = "Bearer ", env = "SHOP_SECRET" }'),
        of_source(old='"payload.kind"', new="\"'order'\""),
        of_source(old='"payload.kind"', new='"to_string(payload.code)"'),
        of_source(HMAC + '\nbody = "payload.data"', old='"payload.kind"', new='"payload.data.kind"'),
        of_source(HMAC + '\nevents = "payload.events"'),
        of_source(HMAC + '\nevents = "map(&@, payload.events)"'),
        of_source(HMAC + '\nbody = "{total: sum(payload.items[].price)}"'),
        of_source(HMAC + '\nchallenge = [{ when = "payload.challenge", reply = "{payload.challenge}" }]'),
        of_route('{ handler = "exec", run = ["echo", "--tag", "a", "--tag", "b"] }'),
        of_route(when="when = \"body.items[?source == `5` && query == 'a' && event_type == `1`]\""),
        of_route('{ handler = "exec", run = ["cat"], success = "body.result.ok" }'),
        of_route('{ handler = "exec", run = ["cut", "-d", ";", "-f", "1"] }'),
        of_route('{ handler = "exec", run = ["grep", "-e", "{body.ref}", "list.txt"] }'),
        of_route('{ handler = "exec", run = ["jq", "-n", "--arg", "id", "{id}", "$id"] }'),
        of_route(when="when = \"body.video.length > `60` && body.path == '/shop/'\""),
        of_route('{ handler = "exec", run = ["sh", "-c", "printf %s \\"$1\\"", "sh", "{body.ref}"] }'),
        of_route(when="when = \"query.page == '1' && contains(body.tags, 'new*')\""),
        of_route('{ handler = "exec", run = ["cat"], success = "contains([`0`, `3`], result.exit_code)" }'),
        of_route(
            after='[route.a.reply]\nstatus = "{result.exit_code == `0` && `200` || `503`}"\nbody = "{result.output}"\n'
        ),
        of_route('{ handler = "exec", run = ["cat"], name = "1" }, { handler = "exec", run = ["cat"] }'),
        of_source(
            'hmac = { member = "sig", prefix = "v1=", algorithm = "sha256", encoding = "hex", env = "SHOP_SECRET", signed = "{payload.id}" }'
        )
        + SAMPLED,
        of_sample("body.customer.phone"),  # nobody says that a sample has all
    ],
)
def test_what_is_right_passes(tmp_path: Path, text: str) -> None:
    assert checked(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[extend.listener.webhook]\nmax_body = 4194304\nmax_in_flight = 4194304\n", "leaves no room for a body of 4194304: say at least 16777216, or a smaller max_body"),
        (of_source('token = { header = "X-Token", env = "SHOP_SECRET" }\nevents = "payload.events"', old='"payload.id"', new="'headers.\"x-id\"'"), "is the same for all events of one delivery"),
        (of_source(old='"payload.kind"', new='"payload.what"\nsample = { kind = "{type}" }'), "it names no type, as its `sample` is"),
        # Proofs that no delivery, or any, would pass.
        (of_source(hmac(prefix='"v1="', separator='","', timestamp='{ header = "X-Sig", prefix = "v1=" }', signed='"{timestamp}.{body}"')), "is found where the signature is"),
        (of_source(hmac(prefix='",v1="', separator='","')), "refuses the delivery of type 'made' that `webhook trigger` makes"),
        (of_source(hmac(separator='"a"')), "stands in a signature as hex, which it would cut"),
        (of_source(HMAC.replace('header = "X-Sig"', 'member = "signature"')), "holds the signature itself"),
        (of_source(hmac(timestamp='{ header = "X-Time" }', signed="'{headers.\"x-request-id\"}.{body}'")), "is not signed"),
        (of_source(hmac(timestamp='{ header = "X-Time" }', signed='"{timestamp}.{body}"', tolerance='"300ms"')), "300ms would refuse nearly every"),
        (of_source(hmac(timestamp='{ header = "X-Time" }', signed='"{timestamp}.{body}"', tolerance='"300d"')), "300d would take deliveries that somebody kept"),
        (of_source(CERTIFICATE.replace("ALLOWED", r"https://.*\.shop\.example/.*")), "so other hosts fit"),
        (of_source(CERTIFICATE.replace("ALLOWED", "https://keys.shop.example/.*")), "so other hosts fit"),
        (of_source(CERTIFICATE.replace("ALLOWED", r"http://keys\.shop\.example/.*")), "begins with https://"),
        (of_source(CERTIFICATE.replace("ALLOWED", r"https://keys\.shop\.example")), "without a path"),
        (of_source(CERTIFICATE.replace("ALLOWED", r"https://k\.example/.+").replace("X-Cert", "X-Sig")), "is found where the signature is"),
        (of_source('token = { header = "Authorization", prefix = "Bearer", env = "S" }'), "needs the blank"),
        (of_source('token = { header = "X-Token", prefix = "X-Token: ", env = "S" }'), "is the header's name"),
        (of_source('token = { member = "items[0].token", env = "S" }'), "names with dots between"),
        (of_source(JWT.replace("HS256", "RS256")), "HS256 is for secrets"),
        (of_source(JWT.replace(" }", ', issuer = ["a"], constants = { iss = "b" } }')), "is not in 'issuer'"),
        (of_source(JWT.replace(" }", ", unquote = true }")), "unquote"),
        # What is read of a delivery.
        (of_source(old='"payload.kind"', new='"payload"'), "is a table"),
        (of_source(old='"payload.kind"', new="\"payload.kind == 'paid'\""), "is true or false"),
        (of_source(old='"payload.kind"', new='"payload.items[].kind"'), "is a list"),
        (of_source(old='"payload.id"', new='"payload.kind"'), "is the same for two events"),
        (of_source(old='"payload.id"', new='"headers.host"'), "is the same for many events"),
        (of_source(HMAC + '\nform_field = "payload"'), "needs 'content' beside it"),
        (of_source(HMAC + '\nsample = { event = "{type}" }'), "names no type"),
        (of_source(old='"/shop"', new='"/shop/{id}"'), "a path that begins with /"),
        (of_source(old='"/shop"', new='"/shop/*"'), "a path that begins with /"),
        (of_source(old='type     = "*"', new='type     = "paid, made"'), "one type, or a pattern"),
        (of_source(old='type     = "*"', new='type     = "paid"\nrequires = "event_type == \'made\'"\nsample = { a = 1 }'), "does not fit its own `requires`"),
        (of_source(old='type     = "*"', new='type     = "paid"\nsummary = "{nmae} of {a}"\nsample = { a = 1, name = "x" }'), "has no nmae, which its `summary` shows"),
        (of_source().partition("[event")[0], "no event of it is defined"),
        (of_source(HMAC + '\nevents = "join(\',\', payload.items)"'), "is a text, and a list is expected"),
        (of_source(hmac(prefix='"X-Sig: sha256="')), "is what stands in the value: leave out 'X-Sig'"),
        (of_source('jwt = { header = "Authorization", prefix = "Bearer ", algorithms = ["RS256"], vendor = "https://x.example/k", issuer = ["x"], cache = "1h", grace = "5m" }'), "is over before the key set is fetched again"),
        (of_source(hmac(prefix='"sha1="')), "is that of sha1, and algorithm = 'sha256'"),
        (of_source(HMAC.replace("X-Sig", "HTTP_X_SIG")), "is how CGI calls a header: write 'X-Sig'"),
        (of_source(old='type     = "*"', new='type     = "^order.+$"'), "no regular expression"),
        (of_route('{ handler = "exec", run = ["notify", "{{id}}"] }'), "a value stands in one pair, {id}"),
        (of_route('{ handler = "exec", run = ["notify", "$id"] }'), "no shell reads it"),
        (of_route('{ handler = "exec", run = ["sh", "notify $1", "{id}"] }'), "is the name of a file here: say -c before a script"),
        (of_route('{ handler = "exec", run = ["cat"], env = { TOKEN = "$TOKEN" } }'), "`secrets` names variables"),
        (
            of_source() + of_route('{ handler = "exec", run = ["cat"], secrets = ["SHOP_SECRT"] }'),
            "no source has a secret in 'SHOP_SECRT', did you mean 'SHOP_SECRET'?",
        ),
        (of_source(HMAC.replace(" }", ', member = "sig" }')), "cannot stand beside header"),
        (of_source(HMAC.replace(" }", ', signed = "{payload.id}.{payload}" }')), "and not the bytes that came: write {body}"),
        (
            of_source(CERTIFICATE.replace("ALLOWED", r"https://*\.example\.com/*\.pem")),
            "a * repeats what stands before it, the slash here",
        ),
        (of_sample("contains(body.lines, 'RYE')"), "in the samples 'body.lines' is a list of tables: say which member"),
        (of_sample("body.customer.namee"), "in the samples 'body.customer' has no 'namee', did you mean 'name'?"),
        (
            of_sample("body.number").replace(EXEC, EXEC.replace(" }", ', envelope = "own" }'))
            + '[envelope.own]\ntitle = "Own"\nrequires = "body.phone"\nsend = "{body.number}"\n',
            "is sent for no event: it requires body.phone, which no sample has",
        ),
        (of_sample("body.customer.nmae"), "in the samples 'body.customer' has no 'nmae', did you mean 'name'?"),
        (of_sample("body.lines[].sku == 'x'").replace("lines[].sku", "customers"), "did you mean 'customer'?"),
        (of_route('{ handler = "forward", url = "https://x.example/", headers = { X-Id = "$id" } }'), "`login` signs in"),
        (of_route('{ handler = "forward", url = "https://x.example/", headers = { Content-Type = "json" } }'), "expected a media type"),
        (of_route('{ handler = "append", file = "events-%Y-%m-%d.ndjson" }'), "all lines go into one file of this name"),
        (of_route(when='on = ["/order.*/"]'), "only *, ? and [...] are signs of a pattern"),
        # What cannot be made.
        (of_route(after="reply = { status = 304 }"), "expected a status of HTTP"),
        (of_route('{ handler = "exec", run = ["cat"] }, { handler = "exec", run = ["true"] }', after='reply = { body = "{result.output}" }'), "the route must have one handler"),
        (of_route('{ handler = "publish", url = "amqp://localhost" }'), "expected queue or exchange"),
        (of_route('{ handler = "publish", url = "amqp://localhost", topic = "a" }'), "expected queue or exchange, not topic"),
        (of_route('{ handler = "publish", url = "ampq://localhost", queue = "a" }'), "did you mean 'amqp'?"),
        (of_route('{ handler = "append", file = "{event_type}.ndjson" }'), "cannot be taken out of an event"),
        (of_route('{ handler = "append", file = "~/events.ndjson" }'), "~ and $NAME stay as they are"),
        (of_route('{ handler = "append", file = "$HOME/events.ndjson" }'), "~ and $NAME stay as they are"),
        (of_route('{ handler = "exec", run = ["~/bin/notify"] }'), "~ and $NAME stay as they are"),
        (of_route('{ handler = "exec", run = ["cat"], dir = "~/work" }'), "~ and $NAME stay as they are"),
        (of_route('{ handler = "exec", run = "notify {id}" }'), "expected a list"),
        (of_route('{ handler = "exec", run = ["cat"], max_attempts = 1, backoff = "1m" }'), "is never looked at: there is one attempt"),
        (of_route('{ handler = "forward", url = "https://{body.host}/" }'), "must be written out"),
        (of_route('{ handler = "forward", url = "x.example/hook" }'), "must be written out"),
        (of_route('{ handler = "forward", url = "https://u:p@x.example/" }'), "must not hold a user name or password"),
        (of_route('{ handler = "forward", url = "https://x.example/", login = {} }'), "expected env or secret"),
        (of_route('{ handler = "forward", url = "https://x.example/", headers = { Content-Length = "5" } }'), "is set by the program"),
        # Questions.
        (of_source(HMAC + '\nchallenge = [{ when = "headers", reply = "x" }]'), "is true of every request"),
        (of_source(HMAC + '\nchallenge = [{ when = "payload.id", reply = "x" }]'), "is taken for a question"),
        (of_source(HMAC + '\nchallenge = [{ method = "GET", when = "query.c", reply = "{payload.c}" }]'), "GET has no payload"),
        (of_source(HMAC + '\nchallenge = [{ when = "query.c", reply = "{payload.c}" }]'), "has to look at the payload"),
        (of_source(HMAC + '\nchallenge = [{ method = "HEAD", reply = "x" }]'), "is never sent"),
        (of_source(HMAC + '\nchallenge = [{ when = "payload.c", reply = "{signature}" }]'), "belong together"),
        (of_source(HMAC + '\nchallenge = [{ method = "GET", when = "query.c", reply = "x", token = { query = "t" } }]'), "needs 'env'"),
        # Routes.
        (of_route(when='on = ["push"]\nwhen = "source == \'gitlab\'"\nsource = ["github"]'), "never 'gitlab'"),
        (of_route(when="when = \"event_type == 'push' && event_type == 'ping'\""), "is never true"),
        (of_route(when="when = \"event_type == 'push' || 'ping'\""), "is always true"),
        (of_route(when="when = \"!(body.a) == 'x'\""), "this is true or false, and never 'x'"),
        (of_route(when="when = \"to_number(body.a) == '5'\""), "to_number(...) is a number, and never '5'"),
        (of_route(when='when = "query.page == `1`"'), "query.page is string, and never 1"),
        (of_sample("body.lines > `1`"), "'body.lines' is a list, and never 1: write length(body.lines)"),
        (of_sample('body.\\"a-b\\".c == `1`'), "'body.\"a-b\".c' is a text, and never 1: write to_number(body.\"a-b\".c)"),
        (of_sample("body.lines.length > `1`"), "a list has no member `length`: write length(body.lines)"),
        (of_sample("body.customer == 'Kim'"), "'body.customer' is a table, and never 'Kim'"),
        (of_sample("body.paid == 'true'"), "'body.paid' is true or false, and never 'true'"),
        (of_sample("contains('gift', body.tags)"), "contains('gift', body.tags): the list stands first"),
        (of_sample("body.number.sku == 'x'"), "'body.number' is a number: there is nothing inside"),
        (of_sample("body.lines.sku == 'x'"), "write body.lines[].sku"),
        (of_sample("upper(body.customer) == 'KIM'"), "upper: 'body.customer' is a table"),
        (of_sample("body.order.number > `3`"), "`body` is that already in the samples: write body.number"),
        (of_sample("payload.sales[0].number > `3`", 'events = "payload.sales"'), "`payload` is one event of that list"),
        (of_sample("body.shop == 'x'", 'events = "payload.sales"\nsample = { shop = "x", sales = [{ kind = "{type}" }] }'), "stands beside the list of events"),
        (of_sample("body.number > `3`", 'content = "form"'), "'body.number' is a text, and neither above nor below"),
        (of_sample("event_type != 'sold' && body.paid"), "is never true: event_type is sold here"),
        (of_sample("starts_with(event_type, 'shop.')"), "is never true: event_type is sold here"),
        (of_route(when='source = ["stripe"]\non = ["charge.(a|b)"]'), "only *, ? and [...] are signs of a pattern"),
        (of_route(when='source = ["stripe"]\non = ["!charge.*"]'), "only *, ? and [...] are signs of a pattern"),
        (of_route(when='order = "id"'), "is another for each event"),
        (of_route('{ handler = "exec", run = ["cat"], name = "2" }, { handler = "exec", run = ["cat"] }'), "'2' is the name of an earlier one"),
        (of_route('{ handler = "exec", run = ["cat"], rate = "10/0s" }'), "runs in a time"),
        (of_route('{ handler = "command", program = "suite", run = "issue comment" }'), "did you mean 'issues comment'?"),
        (of_route('{ handler = "command", program = "siute", run = "issues list" }'), "did you mean 'suite'?"),
        (of_route('{ handler = "command", program = "suite", run = "issues delete A-1" }'), "asks before it does anything"),
        (of_route('{ handler = "command", program = "suite", run = "issues get", params = { isue = "A-1" } }'), "has no parameter 'isue'"),
        (of_route('{ handler = "command", program = "suite", run = ["issues", "list", "--site", "{body.a}"] }'), "no value of an event can choose sites"),
        (of_route('{ handler = "exec", run = ["cat"], backoff = "10m", give_up_after = "1m" }'), "is over before the first repetition"),
        (of_route('{ handler = "exec", run = ["sh", "-c", "echo {body.ref}"] }'), "hand it over as a further argument"),
        (of_route('{ handler = "exec", run = ["cat", "|", "wc"] }'), "no shell reads it"),
        (of_route('{ handler = "exec", run = ["sh", "-c", "see.py --", "{body.ref}"] }'), "is $0 of the script"),
        (of_route('{ handler = "exec", run = ["python3", "see.py", "--ref=$REF"] }'), "no shell reads it"),
        (of_route('{ handler = "exec", run = ["cat"], env = { EVENT_ID = "x" } }'), "stands in the place of what the listener says"),
        (of_route('{ handler = "exec", run = ["cat"], env = { KEY = "x" }, secrets = ["KEY"] }'), "the secret KEY is never seen"),
        (of_route('{ handler = "python", call = "late.py:handle" }'), "a module is named late:..."),
        (of_route('{ handler = "exec", run = ["cat"], give_up_after = "1h", circuit = { failures = 5, pause = "2h" } }'), "is longer than an event waits: 1h"),
        ('[extend.listener.webhook]\ngive_up_after = "3s"\n', "is over before the first repetition"),
        (of_route('{ handler = "exec", run = ["echo", "$EVENT_ID"] }'), "no shell reads it"),
        (of_route('{ handler = "exec", run = ["python3 handle.py"] }'), "write each argument by itself"),
        (of_route('{ handler = "forward", url = "https://example.com/in#{id}" }'), "behind a # is never sent"),
        (of_route('{ handler = "exec", run = ["cat"], success = "result.exit_code" }'), "is always true"),
        (of_route('{ handler = "exec", run = ["cat"], success = "result.exit_code == \'0\'" }'), "result.exit_code is number"),
        (of_route('{ handler = "exec", run = ["cat"], success = "result.status == `200`" }'), "what exec gives has exit_code, output"),
        (of_route(after='[route.a.reply]\nbody = "{result.body}"\n'), "result.body: what exec gives has exit_code, output"),
        (of_route('{ handler = "append", file = "f" }', after='[route.a.reply]\nbody = "{result.output}"\n'), "what append gives has nothing"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    found = checked(tmp_path, text)
    assert found, "nothing is said"
    assert any(said in line for line in found), found


def test_every_sender_that_comes_along_takes_what_is_made_for_it() -> None:
    with closing(open_catalog("lms", {"CALLSHEET_HOME": os.devnull}, own=False)) as catalog:
        events = catalog.events.all()
        tried = {name: list(trial_findings(name, each, events)) for name, each in catalog.sources.all().items()}
    assert len(tried) > 30
    assert not any(tried.values()), tried


@pytest.mark.parametrize("body", ["", "payload", "payload.data"])
@pytest.mark.parametrize("events", ["", "payload", "payload.list"])
def test_a_delivery_is_made_as_the_expressions_read_it(body: str, events: str) -> None:
    definition = {"path": "/x", "type": "payload.meta.kind || 'none'", "id": 'headers."x-id"', "time": "payload.at"}
    definition |= {key: text for key, text in (("body", body), ("events", events)) if text}
    payload, headers = make_payload(definition, "paid", {"score": 1}, "7", [])
    assert headers == {"x-id": "7"}
    one = payload[0] if events == "payload" else payload["list"][0] if events else payload
    assert one["meta"] == {"kind": "paid"}
    assert {"": one, "payload": one, "payload.data": one.get("data")}[body].get("score") == 1
    assert plain_delivery(definition, payload, headers, None, "http://x/x").body


@pytest.mark.parametrize(
    "text",
    [
        of_sample("body.customer.name == 'Kim' && length(body.lines) > `1` && contains(body.tags, 'gift')"),
        of_sample("body.lines[0].sku == 'RYE' && body.more.of.it && body.paid == `true`"),
        of_sample("to_number(body.number) > `3`", 'content = "form"'),
        of_sample("body.customer == 'Kim'").replace('source = ["shop"]\non = ["sold"]', ""),  # of any event
        of_sample("body.lines > `1`") + SAMPLED.replace("sold", "sol*").replace("sample ", "# "),
        of_sample("event_type != 'other' && starts_with(event_type, 'so')"),
        of_route('{ handler = "exec", run = ["sh", "-c", "see.py \\"$1\\"", "see", "{body.ref}"] }'),
        of_route('{ handler = "exec", run = ["sh", "-c", "see.py \\"$0\\"", "{body.ref}"] }'),
    ],
)
def test_what_an_event_may_have_is_accepted(tmp_path: Path, text: str) -> None:
    assert checked(tmp_path, text) == []
