"""`forward`: send a delivery on as it came, byte for byte, with the headers that prove it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ...errors import DefinitionError, UsageError
from ...jsontext import JSONError, parse_json
from ...language.template import compile_template
from ...urls import is_loopback
from . import MAX_RESULT, HandlerContext, HandlerFailed
from .base_handler import Base
from .event_content import AddressTemplate, fill_headers
from .target_login import read_login, refuse_cleartext

if TYPE_CHECKING:
    import httpx

    from ...language.shape.listener import ForwardsEvent
    from ..verify.event import Event

# Of the connection, not of the message (RFC 9110, 7.6.1), or meant for this listener only.
_NOT_PASSED = frozenset(
    {
        b"host",
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"http2-settings",
        b"content-length",
        b"expect",
        b"accept-encoding",
        b"authorization",
        b"cookie",
    }
)
# What a route may say all the same.
_OWN = frozenset({b"host", b"accept-encoding", b"authorization", b"cookie"})
_DEEPEST = 100


class Forward(Base):
    """Sends the event on to an address."""

    result_members = ("status", "headers", "body")
    shape = ".language.shape.listener:ForwardsEvent"

    def __init__(self, table: ForwardsEvent, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.address = AddressTemplate(table["url"])
        self._login = self._read_login(table)
        for name in table.get("headers", {}):
            if name.lower().encode() in _NOT_PASSED - _OWN:
                raise DefinitionError(f"handler 'forward': headers: {name!r} is set by the program")
        host = next((text for name, text in table.get("headers", {}).items() if name.lower() == "host"), "")
        if any(not isinstance(part, str) for part in compile_template(host)):
            raise DefinitionError("handler 'forward': headers: a value out of an event must not choose the host")
        for name in self.envelope.header_names if self.envelope is not None else ():
            if name.lower().encode() in _NOT_PASSED:
                hint = "put it into the handler's own `headers`, unless the program sets it"
                raise DefinitionError(f"handler 'forward': envelope: headers: {name!r} is not sent on", hint=hint)
        self.client: httpx.AsyncClient | None = None

    def _read_login(self, table: ForwardsEvent) -> dict[bytes, bytes]:
        """The header that signs in."""
        if "login" not in table:
            return {}
        if any(name.lower() == "authorization" for name in table.get("headers", {})):
            raise UsageError("login: headers has an authorization already", hint="leave out one of them")
        if table["url"].lower().startswith("http:") and not is_loopback(self.address.host):
            refuse_cleartext(table["login"], self.address.host, "https://")
        return {b"authorization": read_login(table["login"], self.context).authorization}

    async def run(self, event: Event, job: str) -> Any:
        import httpx

        del job
        url = self.address.fill_address(event.scope)
        try:
            async with asyncio.timeout(self.timeout):
                result = await self._send_request(url, event)
        except TimeoutError:
            raise HandlerFailed(f"{self.address.shown}: no answer after {self.timeout:g} s") from None
        except httpx.InvalidURL as error:
            raise HandlerFailed(f"{self.address.shown}: {error}") from None
        except httpx.RequestError as error:
            from ...client.http.retry import explain_network_error

            raise HandlerFailed(f"{self.address.shown}: {explain_network_error(error, self.timeout)[0]}") from None
        status = result["status"]
        return self.check_result(
            event, result, None if 200 <= status < 300 else f"{self.address.shown} answered {status}"
        )

    async def _send_request(self, url: str, event: Event) -> dict[str, Any]:
        """An answer is read to keep the connection usable. A longer one costs the connection, and is no result."""
        if self.client is None:
            self.client = self._new_client()
        data, headers = self._message_of_event(event)
        async with self.client.stream("POST", url, content=data, headers=headers) as answer:
            body = b""
            async for piece in answer.aiter_raw():
                body += piece[: MAX_RESULT + 1 - len(body)]
                if len(body) > MAX_RESULT:
                    break
            if not self.wants_result:
                return {"status": answer.status_code}
            if len(body) > MAX_RESULT:
                raise HandlerFailed(f"{self.address.shown}: an answer of more than {MAX_RESULT} bytes")
            return {"status": answer.status_code, "headers": dict(answer.headers), "body": _value_of(body)}

    def _new_client(self) -> httpx.AsyncClient:
        """What stays on this host never goes through a proxy. Which authorities are trusted is the environment's word.

        Raises `UsageError` for certificates that cannot be read.
        """
        import httpx

        from ...client.http.connections import ssl_context

        no_limit = httpx.Timeout(None)  # `run` has one for all of it
        local = is_loopback(self.address.host)
        trusted = ssl_context(None, self.context.environ)
        return httpx.AsyncClient(follow_redirects=False, timeout=no_limit, trust_env=not local, verify=trusted)

    def _message_of_event(self, event: Event) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """What was made of an event goes without the sender's headers: they prove and describe other bytes."""
        own = fill_headers(self.table.get("headers", {}), event.scope) | self._login
        data, sent = event.data, event.headers
        if self.envelope is not None:
            data, made = self.envelope.make_content(event)
            sent = [*made.items(), *event.trace_headers]
        passed = [(name, value) for name, value in sent if name not in _NOT_PASSED and name not in own]
        return data, [*passed, (b"accept-encoding", b"identity"), *own.items()]

    async def close(self) -> None:
        if self.client is not None:
            await self.client.aclose()


def _value_of(body: bytes) -> Any:
    """What an answer says as JSON, else its text."""
    try:
        return parse_json(body, _DEEPEST)
    except JSONError:
        return body.decode("utf-8", "replace")
