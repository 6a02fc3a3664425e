"""An answer whose body still comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import httpx

from ...errors import CallsheetError
from ..request.model import Request
from .redact import Redactor
from .reply import Reply


@dataclass(frozen=True, slots=True)
class Incoming:
    """`words` turns what goes wrong while reading into an error; the connection is freed by `close`."""

    request: Request
    response: httpx.Response
    url: str
    words: Callable[[httpx.RequestError], CallsheetError]
    redactor: Redactor

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self.response.headers

    @property
    def ok(self) -> bool:
        return self.response.is_success

    @property
    def length(self) -> int | None:
        """Bytes that will come, where that is known beforehand."""
        text = self.headers.get("content-length", "")
        return int(text) if text.isdigit() and "content-encoding" not in self.headers else None

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from self.response.iter_bytes()
        except httpx.RequestError as error:
            raise self.words(error) from None

    def whole(self) -> Reply:
        try:
            content = self.response.read()
        except httpx.RequestError as error:
            raise self.words(error) from None
        return Reply(self.request, self.status, self.headers, content, self.url, self.redactor)

    def close(self) -> None:
        self.response.close()
