"""`forward`: send a delivery on as it came, byte for byte, with the headers that prove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...language.template import fill_text, to_text
from ..verify.signature import text_headers
from . import HandlerContext, HandlerFailed
from .base_handler import Base

if TYPE_CHECKING:
    import httpx

    from ...language.shape import listener as shape
    from ..verify.event import Event

# Of the connection, not of the message (RFC 9110, 7.6.1), or meant for this listener only.
_NOT_PASSED = frozenset(
    {
        "host",
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "expect",
        "accept-encoding",
        "authorization",
        "cookie",
    }
)


class Forward(Base):
    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.client: httpx.AsyncClient | None = None

    async def run(self, event: Event, job: str) -> None:
        import httpx

        del job
        if self.client is None:
            self.client = httpx.AsyncClient(follow_redirects=False, timeout=self.timeout)
        url = to_text(fill_text(self.table["url"], event.scope))
        try:
            answer = await self.client.post(url, content=event.data, headers=self._headers(event))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise HandlerFailed(f"{_host(url)}: {str(error) or type(error).__name__}") from None
        if not answer.is_success:
            raise HandlerFailed(f"{_host(url)} answered {answer.status_code}")

    def _headers(self, event: Event) -> dict[str, str]:
        passed = {name: value for name, value in text_headers(event.headers).items() if name not in _NOT_PASSED}
        own = {name: to_text(fill_text(text, event.scope)) for name, text in self.table.get("headers", {}).items()}
        return passed | {name.lower(): value for name, value in own.items()}

    async def close(self) -> None:
        if self.client is not None:
            await self.client.aclose()


def _host(url: str) -> str:
    """The address without what may be secret in it: path, query, user."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2].partition('?')[0]}"
