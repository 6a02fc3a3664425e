"""A simulated site: one request in, one answer out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from datetime import datetime
from email.parser import BytesParser
from email.policy import HTTP
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from ..errors import UsageError
from .actions import Actions, Answer
from .entities import Entities
from .lists import Asked
from .moments import parse_time_span
from .other_bases import OtherBases
from .refusal import RefusedError
from .rendering import compile_render, without_null
from .routes import RouteMatch, Routes
from .state import State, StateError

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from .state import Item
    from .webhooks import Webhooks


File = tuple[str, str, bytes]  # name, media type, content


def uploaded(media: str, body: bytes) -> tuple[list[File], dict[str, Any]]:
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


def seed(entities: Entities) -> None:
    """Each is made as an operation would make it; `ago` says how long ago that was."""
    now = datetime.now().astimezone()
    for entity in entities:
        for entry in entity.seed:
            when = now - parse_time_span(entry.get(AGO, "0m"), "m")
            moment = when.isoformat(timespec="milliseconds")
            scope: dict[str, Any] = {"now": moment, "me": None, "site": entities.site, "body": {}, "params": {}}
            members = without_null(compile_render({name: value for name, value in entry.items() if name != AGO})(scope))
            entities.create(entity.name, members, scope)


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
            kept = self.state.meta()
            if not kept:
                self.reset()
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

    def reset(self) -> None:
        """Everything as it was at the beginning."""
        with self.state:
            self.state.clear()
            seed(self.entities)
            self.state.set_meta("program", self.catalog.program)
            self.state.set_meta("deployment", self.deployment)

    def close(self) -> None:
        self.state.close()

    def answer(self, request: SandboxRequest) -> Answer:
        given, _, query = request.target.partition("?")
        path, other = self.other_bases.find(given)
        match = self.routes.find(request.method, path)
        if match is None:
            return self._unknown(path, given)
        product = match.definition["product"]
        try:
            with self.state:
                asked = self._asked(request, match, given, query)
                answer = self.actions.run_operation(asked._replace(body=other.asked(asked.body)) if other else asked)
                if other and not isinstance(answer.body, bytes):
                    answer = answer._replace(body=other.answered(answer.body, self.address))
        except RefusedError as refusal:
            return self.refused(refusal, product)
        except StateError as error:
            return self.refused(RefusedError(500, self.state.describe_failure(error)), product)
        except Exception as error:  # noqa: BLE001 - whatever a stranger sends is answered, and nothing of it is kept
            message = f"the sandbox could not do this: {type(error).__name__}: {error}"
            return self.refused(RefusedError(500, message), product)
        if self.webhooks and answer.event is not None:
            self.webhooks.send(answer.event, self.entities.simulation(product).get("webhook", {}))
        return answer

    def refused(self, refusal: RefusedError, product: str | None, unknown: str | None = None) -> Answer:
        """`unknown` is the path of a request, where no operation has it."""
        scope = {"status": refusal.status, "message": refusal.message, "fields": refusal.fields or None}
        simulation = self.entities.simulation(product)
        template = simulation.get("unknown", simulation["error"]) if unknown else simulation["error"]
        body = without_null(compile_render(template)({**scope, "site": self.address, "path": unknown}))
        return Answer(refusal.status, body, tuple(refusal.headers.items()))

    def product_of(self, target: str) -> str | None:
        """The product that a request is for, by the base of its path."""
        return self.routes.product_of(self.other_bases.find(target).path)

    def limited(self, product: str | None, told: Mapping[str, Any]) -> Answer:
        """The product's 429, with what its headers say of the limit."""
        simulation = self.entities.simulation(product)
        rules = simulation.get("limited", {})
        headers = {"Retry-After": str(told["seconds"])}
        said = {name: str(compile_render(template)(told)) for name, template in rules.items()}
        headers |= {name: text for name, text in said.items() if text}
        if page := simulation.get("limited_page"):
            return Answer(
                429, str(compile_render(page)(told)).encode(), (*headers.items(), ("Content-Type", "text/html"))
            )
        return self.refused(RefusedError(429, "Rate limit exceeded.", headers=headers), product)

    def _unknown(self, path: str, given: str) -> Answer:
        product = self.routes.product_of(path)
        if methods := self.routes.methods(path):
            return self.refused(RefusedError(405, "Method Not Allowed", headers={"Allow": ", ".join(methods)}), product)
        return self.refused(RefusedError(404, f"no operation has the path {given}"), product, given)

    def _asked(self, request: SandboxRequest, match: RouteMatch, path: str, query: str) -> Asked:
        """As a service does, parameters that the operation does not have there are ignored."""
        params: dict[str, Any] = dict(match.values)
        known = {param["name"] for param in match.definition.get("params", []) if param.get("in", "query") == "query"}
        pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] in known]
        for name, value in pairs:
            params[name] = value if name not in params else [*_list(params[name]), value]
        media = request.headers.get("content-type", "")
        files, form = uploaded(media, request.body)
        return Asked(
            operation=match.operation,
            definition=match.definition,
            params=params,
            body=form if files or form else _json(request.body, media),
            files=files,
            me=self._person(request, match.definition["product"]),
            now=datetime.now().astimezone().isoformat(timespec=_MILLISECONDS),
            path=path,
            query=pairs,
        )

    def _person(self, request: SandboxRequest, product: str) -> Item | None:
        """Who asks: the one whose name the request carries, else the first person there is."""
        entity = self.entities.simulation(product).get("me")
        if entity is None:
            return None
        scheme, _, word = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            try:
                name = base64.b64decode(word).decode().partition(":")[0]
            except (binascii.Error, ValueError):
                name = ""
            if found := self.entities.find(entity, name):
                return found
        return next(self.state.items(entity), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _json(body: bytes, media: str) -> Any:
    if not body or ("json" not in media and media):
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise RefusedError(400, "the body is not valid JSON") from None
