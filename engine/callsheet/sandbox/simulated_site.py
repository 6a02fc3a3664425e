"""A simulated site: one request in, one answer out, with faults on demand and events to other programs."""

from __future__ import annotations

import base64
import binascii
import heapq
import hmac
import itertools
import queue
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection, Container, Mapping
from contextlib import ExitStack
from datetime import datetime
from email.parser import BytesParser
from email.policy import HTTP
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from ..client.request.operation_call import replace_base
from ..durations import duration_seconds
from ..errors import UsageError, did_you_mean
from ..language.merge import on_deployment
from ..richtext import convert_rich_text
from .actions import Actions, Answer, Asked
from .entities import Entities, RefusedError, compile_render, condition_holds, without_null
from .search import parse_time_span
from .state import State, StateError

if TYPE_CHECKING:
    import httpx

    from ..catalog.catalog import Catalog
    from ..language.shape.rest import CompiledOperation
    from ..language.shape.sandbox import OtherBase, SimulationDefinition, WebhookDefinition
    from ..language.template import Scope
    from .state import Item


# Which operation a method and a path belong to.


_OPERATION = ""


class RouteMatch(NamedTuple):
    """An operation, and what stands in its path in the place of its parameters."""

    operation: str
    definition: CompiledOperation
    values: dict[str, str]


class Routes:
    """The operations of all products as a tree of the parts of their paths; words go before parameters."""

    def __init__(
        self,
        catalog: Catalog,
        deployment: str,
        simulated: Container[str],
        products: Collection[str] | None = None,
    ) -> None:
        self._simulated = simulated  # of two operations with one path, the one that does something answers
        self._tree: dict[str, Any] = {}
        self.products: list[tuple[str, str]] = []  # base and product, the longest base first
        plain = catalog.products.all()
        here = {name: on_deployment(product, deployment) for name, product in plain.items()}
        for name, product in here.items():
            if "unavailable" not in product and name in (products or here):
                self.products.append((product.get("base", ""), name))
        self.products.sort(key=lambda each: -len(each[0]))
        for id, operation in catalog.operations.all().items():
            own = on_deployment(operation, deployment)
            product = here[own["product"]]
            if "unavailable" in own or "unavailable" in product or own["product"] not in (products or here):
                continue
            method, _, path = own["http"].partition(" ")
            if own["http"] == operation["http"]:
                path = replace_base(path, plain[own["product"]].get("base", ""), product.get("base", ""))
            self._add_route(method, path, id, own)

    def _add_route(self, method: str, path: str, id: str, operation: CompiledOperation) -> None:
        place = self._tree
        names = []
        for part in path.strip("/").split("/"):
            is_parameter = part.startswith("{") and part.endswith("}")
            if is_parameter:
                names.append(part[1:-1])
            place = place.setdefault("{}" if is_parameter else part, {})
        methods = place.setdefault(_OPERATION, {})
        if method not in methods or id in self._simulated:
            methods[method] = (id, operation, names)

    def find_route(self, method: str, path: str) -> RouteMatch | None:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        found = self._search_tree(self._tree, method, parts, 0, [])
        if found is None:
            return None
        (id, operation, names), values = found
        return RouteMatch(id, operation, dict(zip(names, values, strict=True)))

    def _search_tree(self, place: dict[str, Any], method: str, parts: list[str], depth: int, values: list[str]) -> Any:
        if depth == len(parts):
            entry = place.get(_OPERATION, {}).get(method)
            return (entry, values) if entry else None
        part = parts[depth]
        if part and part != "{}" and part in place:
            found = self._search_tree(place[part], method, parts, depth + 1, values)
            if found:
                return found
        if part and "{}" in place:
            return self._search_tree(place["{}"], method, parts, depth + 1, [*values, part])
        return None

    def methods_at(self, path: str, known: tuple[str, ...] = ("GET", "POST", "PUT", "PATCH", "DELETE")) -> list[str]:
        return [method for method in known if self.find_route(method, path)]

    def product_of(self, path: str) -> str | None:
        """The product whose paths begin like this one."""
        return next((name for base, name in self.products if path.startswith(base)), None)


# The base paths that a product's operations answer at besides its own, with texts in another format.


class PathBelow(NamedTuple):
    """A request's path as the operations have it; `other` where it stands below another base of its product."""

    path: str
    other: OtherForm | None = None


class OtherForm:
    """What requests and answers are like below another base."""

    def __init__(self, catalog: Catalog, product: str, own: str, base: str, definition: OtherBase) -> None:
        self.product, self.own, self.base = product, own, base
        self._catalog = catalog
        self._texts = definition.get("texts")

    def as_kept(self, body: Any) -> Any:
        """The body, with its texts in the format that items keep."""
        for path in self._texts["members"] if self._texts else ():
            _change_at_path(body, path.split("."), self._kept_text)
        return body

    def as_answered(self, value: Any, site: str) -> Any:
        """The answer, with its texts in the format of this base, and addresses below it."""
        if isinstance(value, list):
            return [self.as_answered(each, site) for each in value]
        if isinstance(value, str) and value.startswith(f"{site}{self.own}/"):
            return f"{site}{self.base}{value[len(site) + len(self.own) :]}"
        if not isinstance(value, dict):
            return value
        if self._texts and condition_holds(self._texts["where"], value):
            text = convert_rich_text(
                value, self._texts["kept"], self._texts["shown"], nodes=self._catalog.nodes.all()
            ).value
            return text.rstrip("\n")
        return {key: self.as_answered(each, site) for key, each in value.items()}

    def _kept_text(self, text: Any) -> Any:
        if self._texts is None or not isinstance(text, str):
            return text
        return convert_rich_text(text, self._texts["shown"], self._texts["kept"], nodes=self._catalog.nodes.all()).value


class OtherBases:
    """Those of all products."""

    def __init__(self, catalog: Catalog, simulations: dict[str, SimulationDefinition], bases: dict[str, str]) -> None:
        self._forms = [
            OtherForm(catalog, product, bases[product], base, form)
            for product, simulation in simulations.items()
            for base, form in simulation.get("other_bases", {}).items()
        ]

    def path_below(self, path: str) -> PathBelow:
        """Where no base but the product's own fits, the path as it is."""
        found = ((replace_base(path, form.base, form.own), form) for form in self._forms)
        return next((PathBelow(*each) for each in found if each[0] != path), PathBelow(path))


def _change_at_path(value: Any, path: list[str], change: Callable[[Any], Any]) -> None:
    """The member at the path is changed where it is, in each table of a list."""
    name, *rest = path
    for table in value if isinstance(value, list) else [value]:
        if not isinstance(table, dict) or name not in table:
            continue
        if rest:
            _change_at_path(table[name], rest, change)
        else:
            table[name] = change(table[name])


# Faults on demand: failures at a rate, latency, and a limit of requests.


CUT, SLOW, PAGE = "break", "slow", "html"
WORDS = (CUT, SLOW, PAGE)
_MINUTE = 60.0
_LIMIT = 100  # what a 429 that was asked for says of a limit that nobody set


class Fault(NamedTuple):
    """`word` is the status of an answer, or what happens to it; `rate` is between 0 and 1."""

    word: str
    rate: float

    @property
    def status(self) -> int | None:
        return int(self.word) if self.word.isdigit() else None


def parse_fault(text: str) -> Fault:
    """`503:0.1`, `break:0.05`; raises `UsageError`."""
    word, separator, number = text.partition(":")
    try:
        rate = float(number) if separator else 1.0
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise UsageError(f"--fail {text!r}: the rate is a number from 0 to 1", hint="for example --fail 503:0.1")
    if word.isdigit() and 400 <= int(word) <= 599:
        return Fault(word, rate)
    if word in WORDS:
        return Fault(word, rate)
    raise UsageError(
        f"--fail {text!r}: expected a status from 400 to 599, or one of {', '.join(WORDS)}{did_you_mean(word, WORDS)}"
    )


class Faults:
    """Decides what happens to a request; `rate_limit` is a number of requests a minute, 0 for none."""

    def __init__(
        self,
        wanted: list[Fault],
        latency: float = 0.0,
        rate_limit: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.wanted = wanted
        self.latency = latency
        self.rate_limit = rate_limit
        self._clock = clock
        self._recent: deque[float] = deque()

    def choose_fault(self) -> Fault | None:
        for each in self.wanted:
            if random.random() < each.rate:  # noqa: S311  nothing secret hangs on it
                return each
        return None

    def rate_limit_facts(self) -> Mapping[str, object] | None:
        """What a 429 tells, where too many requests came within a minute."""
        if not self.rate_limit:
            return None
        now = self._clock()
        while self._recent and self._recent[0] <= now - _MINUTE:
            self._recent.popleft()
        if len(self._recent) < self.rate_limit:
            self._recent.append(now)
            return None
        return self.too_many(max(1, round(self._recent[0] + _MINUTE - now)))

    def too_many(self, seconds: int = 1) -> Mapping[str, object]:
        """What a 429 tells of the limit, and of the seconds until requests pass again."""
        reset = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        return {"seconds": seconds, "limit": self.rate_limit or _LIMIT, "reset": reset}


# Telling another program of each change, as the simulated service would: signed, and again where it did not work.


_MOST = 1000
_TIMEOUT = 20.0
_USUAL_WAIT = "1s"


class _Delivery(NamedTuple):
    """When it is due, what is sent, and how often it was tried before; `number` keeps the order of equals."""

    due: float
    number: int
    id: str
    body: bytes
    rules: WebhookDefinition
    tries: int


class Webhooks:
    """Events are sent by a thread of their own, so that no answer waits for them; too many at once are let go.

    `secret` signs them where the product signs. Each further try comes after twice the wait of the one before.
    """

    def __init__(self, url: str, secret: str | None = None) -> None:
        self.url = url
        self.secret = secret
        self.failed = 0  # events that were given up
        self._numbers = itertools.count()
        self._new: queue.Queue[_Delivery] = queue.Queue(_MOST)
        self._later: list[_Delivery] = []
        threading.Thread(target=self._send_all, daemon=True).start()

    def send_event(self, event: Any, rules: WebhookDefinition) -> None:
        body = msgspec.json.encode(event)
        try:
            self._new.put_nowait(_Delivery(0.0, next(self._numbers), str(uuid.uuid4()), body, rules, 0))
        except queue.Full:
            self.failed += 1

    def _send_all(self) -> None:
        import httpx

        with httpx.Client(timeout=_TIMEOUT, trust_env=False) as client:
            while True:
                delivery = self._next_delivery()
                if self._is_done(client, delivery):
                    continue
                tries = delivery.tries + 1
                if tries > delivery.rules.get("retries", 0):
                    self.failed += 1
                    continue
                wait = duration_seconds(delivery.rules.get("wait", _USUAL_WAIT)) * 2 ** (tries - 1)
                heapq.heappush(self._later, delivery._replace(due=time.monotonic() + wait, tries=tries))

    def _next_delivery(self) -> _Delivery:
        """A new one, or one that is due again."""
        while True:
            rest = self._later[0].due - time.monotonic() if self._later else None
            if rest is not None and rest <= 0:
                return heapq.heappop(self._later)
            try:
                return self._new.get(timeout=rest)
            except queue.Empty:
                continue

    def _is_done(self, client: httpx.Client, delivery: _Delivery) -> bool:
        """Whether it arrived, or is not to be tried again."""
        import httpx

        try:
            status: int | None = client.post(
                self.url, content=delivery.body, headers=self._delivery_headers(delivery)
            ).status_code
        except (httpx.HTTPError, httpx.InvalidURL):
            status = None
        if status is not None and status < 400:
            return True
        again = condition_holds(delivery.rules.get("again", "`false`"), {"status": status})
        self.failed += not again
        return not again

    def _delivery_headers(self, delivery: _Delivery) -> dict[str, str]:
        told: Mapping[str, Any] = {"id": delivery.id, "retry": delivery.tries or None}
        own = without_null(compile_render(delivery.rules.get("headers", {}))(told))
        headers = {"Content-Type": "application/json", **{name: str(value) for name, value in own.items()}}
        signature = delivery.rules.get("signature")
        if signature and self.secret:
            made = hmac.new(self.secret.encode(), delivery.body, signature["algorithm"]).hexdigest()
            headers[signature["header"]] = signature.get("prefix", "") + made
        return headers


# A simulated site: one request in, one answer out.


File = tuple[str, str, bytes]  # name, media type, content


def uploaded_files(media: str, body: bytes) -> tuple[list[File], dict[str, Any]]:
    """The files and the other fields of a form; nothing of any other body."""
    if media.startswith("application/x-www-form-urlencoded"):
        return [], dict(parse_qsl(body.decode("utf-8", "replace")))
    if not media.startswith("multipart/form-data"):
        return [], {}
    message = BytesParser(policy=HTTP).parsebytes(
        b"Content-Type: " + media.encode("latin-1", "replace") + b"\r\n\r\n" + body
    )
    files: list[File] = []
    fields: dict[str, Any] = {}
    for part in message.iter_parts() if message.is_multipart() else ():
        content = part.get_payload(decode=True) or b""
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None:
            files.append((str(part.get_filename()), part.get_content_type(), bytes(content)))
        elif name:
            fields[str(name)] = bytes(content).decode("utf-8", "replace")
    return files, fields


AGO = "ago"


class SeedError(UsageError):
    """What a site starts with cannot be made: `path` leads there in the entity's table."""

    def __init__(self, entity: str, path: tuple[str | int, ...], text: str) -> None:
        super().__init__(f"entity {entity!r}: {'.'.join(map(str, path))}: {text}")
        self.entity, self.path, self.text = entity, path, text


def make_seed_items(entities: Entities) -> None:
    """Each is made as an operation would make it; `ago` says how long ago that was. Raises `SeedError`."""
    now = datetime.now().astimezone()
    for entity in entities:
        for place, entry in enumerate(entity.seed):
            try:
                when = now - parse_time_span(str(entry.get(AGO, "0m")), "m")
            except (ValueError, OverflowError):
                text = f"expected a duration such as '3d' or '1d 12h' (given: {entry[AGO]!r})"
                raise SeedError(entity.name, ("seed", place, AGO), text) from None
            moment = when.isoformat(timespec="milliseconds")
            scope: dict[str, Any] = {"now": moment, "me": None, "site": entities.site, "body": {}, "params": {}}
            members = without_null(compile_render({name: value for name, value in entry.items() if name != AGO})(scope))
            entities.create_item(entity.name, members, scope)


_MILLISECONDS = "milliseconds"


class SandboxRequest(NamedTuple):
    """Header names are in lower case; `target` is as it was sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class SandboxSite:
    """All entities that the definitions describe, on one deployment."""

    def __init__(
        self,
        catalog: Catalog,
        deployment: str,
        path: str | None = None,
        webhooks: Webhooks | None = None,
        products: Collection[str] | None = None,
    ) -> None:
        """`products`: only these are served. Raises `UsageError` where the file at `path` holds another site."""
        self.webhooks = webhooks
        self.catalog = catalog
        self.deployment = deployment
        with ExitStack() as undo:
            self.state = State(path)
            undo.callback(self.close)
            self.entities = Entities(catalog, deployment, self.state)
            self.actions = Actions(catalog, self.entities)
            self.other_bases = OtherBases(catalog, self.entities.simulations, self.entities.bases)
            self.routes = Routes(catalog, deployment, self.actions.by_operation, products)
            kept = self.state.read_meta()
            if not kept:
                self.reset_items()
            elif (kept.get("program", catalog.program), kept["deployment"]) != (catalog.program, deployment):
                whose = f"a site of {kept.get('program', catalog.program)} ({kept['deployment']})"
                raise UsageError(f"{path} holds {whose}", hint="name another file, or give its --deployment")
            undo.pop_all()

    @property
    def address(self) -> str:
        return self.entities.site

    @address.setter
    def address(self, value: str) -> None:
        self.entities.site = value

    def reset_items(self) -> None:
        """Everything as it was at the beginning."""
        with self.state:
            self.state.clear_items()
            make_seed_items(self.entities)
            self.state.set_meta("program", self.catalog.program)
            self.state.set_meta("deployment", self.deployment)

    def close(self) -> None:
        self.state.close()

    def answer_request(self, request: SandboxRequest) -> Answer:
        given, _, query = request.target.partition("?")
        path, other = self.other_bases.path_below(given)
        match = self.routes.find_route(request.method, path)
        if match is None:
            return self._unknown_path(path, given)
        product = match.definition["product"]
        try:
            with self.state:
                asked = self._read_request(request, match, given, query)
                answer = self.actions.run_operation(asked._replace(body=other.as_kept(asked.body)) if other else asked)
                if other and not isinstance(answer.body, bytes):
                    answer = answer._replace(body=other.as_answered(answer.body, self.address))
        except RefusedError as refusal:
            return self.refusal_answer(refusal, product)
        except StateError as error:
            return self.refusal_answer(RefusedError(500, self.state.describe_failure(error)), product)
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            message = f"the sandbox could not do this: {type(error).__name__}: {error}"
            return self.refusal_answer(RefusedError(500, message), product)
        if self.webhooks and answer.event is not None:
            self.webhooks.send_event(answer.event, self.entities.simulation_of(product).get("webhook", {}))
        return answer

    def refusal_answer(self, refusal: RefusedError, product: str | None, unknown: str | None = None) -> Answer:
        """`unknown` is the path of a request, where no operation has it."""
        scope = {"status": refusal.status, "message": refusal.message, "fields": refusal.fields or None}
        simulation = self.entities.simulation_of(product)
        template = simulation.get("unknown", simulation["error"]) if unknown else simulation["error"]
        body = without_null(compile_render(template)({**scope, "site": self.address, "path": unknown}))
        return Answer(refusal.status, body, tuple(refusal.headers.items()))

    def product_of(self, target: str) -> str | None:
        """The product that a request is for, by the base of its path."""
        return self.routes.product_of(self.other_bases.path_below(target).path)

    def rate_limit_answer(self, product: str | None, told: Mapping[str, Any]) -> Answer:
        """The product's 429, with what its headers say of the limit."""
        simulation = self.entities.simulation_of(product)
        rules = simulation.get("limited", {})
        headers = {"Retry-After": str(told["seconds"])}
        said = {name: str(compile_render(template)(told)) for name, template in rules.items()}
        headers |= {name: text for name, text in said.items() if text}
        if page := simulation.get("limited_page"):
            return Answer(
                429, str(compile_render(page)(told)).encode(), (*headers.items(), ("Content-Type", "text/html"))
            )
        return self.refusal_answer(RefusedError(429, "Rate limit exceeded.", headers=headers), product)

    def _unknown_path(self, path: str, given: str) -> Answer:
        product = self.routes.product_of(path)
        if methods := self.routes.methods_at(path):
            return self.refusal_answer(
                RefusedError(405, "Method Not Allowed", headers={"Allow": ", ".join(methods)}), product
            )
        return self.refusal_answer(RefusedError(404, f"no operation has the path {given}"), product, given)

    def _read_request(self, request: SandboxRequest, match: RouteMatch, path: str, query: str) -> Asked:
        """As a service does, parameters that the operation does not have there are ignored."""
        params: dict[str, Any] = dict(match.values)
        known = {param["name"] for param in match.definition.get("params", []) if param.get("in", "query") == "query"}
        pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] in known]
        for name, value in pairs:
            params[name] = value if name not in params else [*as_list(params[name]), value]
        media = request.headers.get("content-type", "")
        files, form = uploaded_files(media, request.body)
        return Asked(
            operation=match.operation,
            definition=match.definition,
            params=params,
            body=form if files or form else _json_body(request.body, media),
            files=files,
            me=self._person_asking(request, match.definition["product"]),
            now=datetime.now().astimezone().isoformat(timespec=_MILLISECONDS),
            path=path,
            query=pairs,
        )

    def _person_asking(self, request: SandboxRequest, product: str) -> Item | None:
        """Who asks: the one whose name the request carries, else the first person there is."""
        entity = self.entities.simulation_of(product).get("me")
        if entity is None:
            return None
        scheme, _, word = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            try:
                name = base64.b64decode(word).decode().partition(":")[0]
            except (binascii.Error, ValueError):
                name = ""
            if found := self.entities.find_item(entity, name):
                return found
        return next(self.state.items(entity), None)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _json_body(body: bytes, media: str) -> Any:
    if not body or ("json" not in media and media):
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise RefusedError(400, "the body is not valid JSON") from None


# What a simulated site does that no definition can say: functions `(entities, members, scope)`.


def rank_items(entities: Entities, members: Mapping[str, Any], scope: Scope) -> None:
    """Put `items` of a `entity` in front of the item `before`, or behind the item `after`.

    The member `rank` of an item is a number; the smaller ones come first.
    """
    del scope
    entity = members["entity"]
    moved = [found for each in members.get("items") or [] if (found := entities.find_item(entity, each))]
    others = sorted(
        (item for item in entities.state.items(entity) if item["id"] not in {each["id"] for each in moved}),
        key=lambda item: item.get("rank") or 0,
    )
    anchor = entities.find_item(entity, members.get("before") or members.get("after"))
    if anchor in moved:
        return  # it is where it is
    ids = [item["id"] for item in others]
    place = ids.index(anchor["id"]) + ("before" not in members or members["before"] is None) if anchor else len(ids)
    low = others[place - 1].get("rank", 0) if place else None
    high = others[place].get("rank", 0) if place < len(others) else None
    for number, item in enumerate(moved, 1):
        item["rank"] = _rank_between(low, high, number / (len(moved) + 1))
        entities.keep_item(entity, item)


def _rank_between(low: float | None, high: float | None, part: float) -> float:
    if low is None and high is None:
        return part
    if low is None:
        return (high or 0) - 1 + part
    if high is None:
        return low + part
    return low + (high - low) * part
