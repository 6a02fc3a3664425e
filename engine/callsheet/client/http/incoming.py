"""An answer whose body still comes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import httpx

from ...errors import CallsheetError
from ...integers import parse_whole_number
from ..request.model import Request
from .redact import Redactor
from .reply import Reply
from .transport import allow_slow_body

LARGEST = 128 * 1024 * 1024  # bytes of an answer that is held in memory
_CODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


def check_coding(incoming: Incoming) -> None:
    """Raise `CallsheetError` for a compression that was not asked for, and for one inside another.

    Each multiplies what a few bytes can become; the two that are asked for are read in small pieces.
    """
    coding = incoming.headers.get("content-encoding", "").strip().lower()
    if coding not in _CODINGS:
        what = f"{incoming.request.method} {incoming.redactor.url(incoming.url)}"
        problem = f"the answer is compressed as {coding[:80]!r}, which was not asked for"
        raise CallsheetError(f"{what}: {problem}", status=incoming.status)


def read_whole(response: httpx.Response) -> bytes:
    """The body, in memory; raises httpx's errors, and `CallsheetError` for one that is too large."""
    content = bytearray()
    plain = "content-encoding" not in response.headers  # then the library's decoders have nothing to do
    for chunk in cast("Iterable[bytes]", response.stream) if plain else response.iter_bytes():
        content += chunk
        if len(content) > LARGEST:
            raise CallsheetError(
                f"the answer is larger than {LARGEST >> 20} MiB; only a download can be as large",
                hint="--out FILE saves an answer of any length",
                status=response.status_code,
            )
    return bytes(content)


@dataclass(frozen=True, slots=True)
class Incoming:
    """`words` turns what goes wrong while reading into an error; the connection is freed by `close`.

    `headers` are by lower-case names, since the library's own table looks through all of them for each; `content` is
    the body where it was read at once.
    """

    request: Request
    response: httpx.Response
    headers: Mapping[str, str]
    url: str
    words: Callable[[httpx.RequestError], CallsheetError]
    redactor: Redactor
    content: bytes | None = None

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def ok(self) -> bool:
        return self.response.is_success

    @property
    def length(self) -> int | None:
        """Bytes that will come, where that is known beforehand."""
        return (
            None if "content-encoding" in self.headers else parse_whole_number(self.headers.get("content-length", ""))
        )

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from self.response.iter_bytes()
        except httpx.RequestError as error:
            raise self.words(error) from None

    def read_all(self) -> Reply:
        try:
            allow_slow_body(self.response, allow_slow=False)
            content = read_whole(self.response) if self.content is None else self.content
        except httpx.RequestError as error:
            raise self.words(error) from None
        return Reply(self.request, self.status, self.headers, content, self.url, self.redactor)

    def close(self) -> None:
        self.response.close()
