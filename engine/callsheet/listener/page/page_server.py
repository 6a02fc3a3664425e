"""The page's own server: its files, what it shows as JSON, and what it changes. On this machine, with a token.

Everything of an event goes out as JSON and is put into the page as text. The page loads nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast
from urllib.parse import parse_qsl

from uvicorn import Config
from uvicorn.server import ServerState

from ...errors import CallsheetError, NotAllowed, NotFound, UsageError
from ...jsontext import JSONError, dump_json, parse_json
from ...urls import foreign_status
from ..asyncio_helpers import cancel_all
from ..server.responses import make_response

if TYPE_CHECKING:
    from ..recent_deliveries import RecentDeliveries
    from ..server.application import Receive, Scope, Send
    from ..server.responses import Response

_FILES = {
    "/": ("page.html", b"text/html; charset=utf-8"),
    "/page.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/page.css": ("page.css", b"text/css; charset=utf-8"),
}
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_MAX_BODY = 65536
_DEEPEST = 10
_PAUSE = 0.5  # seconds between two looks for changes
_SILENCE = 15.0  # seconds without a change after which a line says that the server is there


class KeptEvents(Protocol):
    """Events of an inbox or a queue. Called in threads, one call at a time; raises `CallsheetError`."""

    def overview(self) -> dict[str, Any]: ...
    def events(self, state: str | None) -> list[dict[str, Any]]: ...
    def show(self, key: str, id: str) -> dict[str, Any]: ...
    def replay(self, keys: Any) -> list[dict[str, Any]]: ...
    def purge(self, state: str, older: str) -> int: ...
    def close(self) -> None: ...


class PageContent(NamedTuple):
    """What the page of one program shows: recent deliveries, kept events, or both. Calls of `kept` run in `thread`."""

    title: str
    recent: RecentDeliveries | None
    kept: KeptEvents | None
    thread: Executor


class PageApp:
    """An ASGI application. Whoever knows the token may see everything; what changes something is a POST."""

    def __init__(self, content: PageContent, token: str) -> None:
        self.content = content
        self._token = b"bearer " + token.encode()
        # Deliveries are kept by the loop, and read in it. An inbox is a file or a server, and is asked in its thread.
        self._of_deliveries: dict[str, Callable[[Mapping[str, str]], Any]] = {
            "/api/deliveries": lambda _: [] if content.recent is None else content.recent.summaries(),
            "/api/delivery": self._delivery_json,
        }
        self._of_inbox: dict[str, Callable[[Mapping[str, str]], Any]] = {
            "/api/overview": lambda _: None if content.kept is None else content.kept.overview(),
            "/api/events": lambda query: self._open_kept_events().events(query.get("state") or None),
            "/api/event": lambda query: self._open_kept_events().show(query.get("key", ""), query.get("id", "")),
        }
        self._changes: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "/api/replay": lambda given: self._open_kept_events().replay(given.get("keys")),
            "/api/purge": lambda given: self._open_kept_events().purge(
                str(given.get("state")), str(given.get("older"))
            ),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        refused = foreign_status(scope["headers"])
        if refused is not None:
            response = _plain_response(refused, "this page is for this machine only")
        elif method == "GET" and path in _FILES:
            name, content_type = _FILES[path]
            response = _page_response(200, files(__package__).joinpath(name).read_bytes(), content_type)
        elif not self._knows_token(scope):
            response = _plain_response(401, "open the address that the program printed: it ends with the token")
        elif method == "GET" and path == "/api/changes":
            await self._tell_changes(receive, send)
            return
        else:
            response = await self._answer_request(scope, receive)
        await send(response[0])
        await send(response[1])

    def _knows_token(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        shown = given[0][:7].lower() + given[0][7:] if len(given) == 1 else b""
        return hmac.compare_digest(shown, self._token)

    async def _answer_request(self, scope: Scope, receive: Receive) -> Response:
        path, method = scope["path"], scope["method"]
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        try:
            if method == "GET" and path in self._of_deliveries:
                return _json_response(200, self._of_deliveries[path](query))
            if method == "GET" and path in self._of_inbox:
                found = await self._in_thread(partial(self._of_inbox[path], query))
                return _json_response(200, self._overview_json(found) if path == "/api/overview" else found)
            if method == "POST" and path in self._changes:
                change = partial(self._changes[path], await _read_change(receive))
                return _json_response(200, await self._in_thread(change))
        except CallsheetError as error:
            statuses = {UsageError: 400, NotAllowed: 403, NotFound: 404}
            status = next((status for kind, status in statuses.items() if isinstance(error, kind)), 500)
            return _json_response(status, {"error": error.message, "hint": error.hint})
        return _plain_response(404, "there is no such page")

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.content.thread, work)

    def _open_kept_events(self) -> KeptEvents:
        if self.content.kept is None:
            raise NotFound("this listener has no inbox: start it with --inbox")
        return self.content.kept

    def _overview_json(self, inbox: Any) -> dict[str, Any]:
        recent = self.content.recent
        return {
            "title": self.content.title,
            "deliveries": recent is not None,
            "minutes": [] if recent is None else recent.minutes(),
            "inbox": inbox,
        }

    def _delivery_json(self, query: Mapping[str, str]) -> dict[str, Any]:
        number = query.get("number", "")
        found = None
        if self.content.recent is not None and number.isascii() and number.isdigit():
            found = self.content.recent.find_delivery(int(number[:18]))
        if found is None:
            raise NotFound("this delivery is no longer kept")
        return found

    async def _tell_changes(self, receive: Receive, send: Send) -> None:
        """Server-sent events: one each time that something changed, until whoever looks goes away."""
        headers = [(b"content-type", b"text/event-stream"), *_HEADERS]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_wait_for_disconnect(receive))
        state: Any = None
        silent = 0.0
        while not gone.done():
            now = await self._state_json()
            silent = 0.0 if now != state else silent + _PAUSE
            if now != state or silent >= _SILENCE:
                text = b"data: changed\n\n" if now != state else b": still here\n\n"
                state, silent = now, 0.0
                await send({"type": "http.response.body", "body": text, "more_body": True})
            await asyncio.wait([gone], timeout=_PAUSE)
        await send({"type": "http.response.body", "body": b""})

    async def _state_json(self) -> Any:
        kept, recent = self.content.kept, self.content.recent
        inbox = None
        if kept is not None:
            try:
                inbox = await self._in_thread(kept.overview)
            except CallsheetError as error:
                inbox = {"error": error.message}
        return recent and recent.changes, inbox


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read_change(receive: Receive) -> dict[str, Any]:
    """What a change is asked with. Raises `UsageError` where it is too large, or no object."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > _MAX_BODY:
            raise UsageError(f"more than {_MAX_BODY} bytes")
    try:
        given = parse_json(body, _DEEPEST)
    except JSONError as error:
        raise UsageError(f"expected JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError("expected an object")
    return given


def _json_response(status: int, value: Any) -> Response:
    return _page_response(status, dump_json(value).encode("utf-8", "backslashreplace"), b"application/json")


def _plain_response(status: int, text: str) -> Response:
    return _json_response(status, {"error": text, "hint": None})


def _page_response(status: int, body: bytes, content_type: bytes) -> Response:
    return make_response(status, body, ((b"content-type", content_type), *_HEADERS))


# Serving the page in the loop that runs, by uvicorn's protocol.


class PageServer:
    """Serves on a socket that is bound already. `address` is what a person is told of it."""

    def __init__(self, app: PageApp, listening: socket.socket, address: str) -> None:
        self.address = address
        self._app = app
        self._socket = listening
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        config = Config(
            cast("Any", self._app), ws="none", lifespan="off", access_log=False, log_config=None, proxy_headers=False,
            server_header=False,
        )  # fmt: skip
        config.load()
        protocol: Any = config.http_protocol_class

        def make_protocol() -> asyncio.Protocol:
            made: asyncio.Protocol = protocol(config=config, server_state=self._state, app_state={})
            return made

        self._server = await asyncio.get_running_loop().create_server(make_protocol, sock=self._socket)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            cast("Any", connection).transport.abort()
        await cancel_all(self._state.tasks)
        content = self._app.content
        if content.kept is not None:
            content.thread.submit(content.kept.close)
        content.thread.shutdown()
