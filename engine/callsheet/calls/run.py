"""One command that a program calls: it runs in a context of its own, where nobody is at a terminal."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING

from ..commands.context import Context
from ..commands.streams import Streams
from ..output.columns import FormatContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..client.http.http_client import Client
    from ..client.request.gate import Ask
    from ..client.request.http_request import Request
    from ..policy.policy import PolicySource
    from ..sites.site import Site

_OPENING = threading.Lock()  # several calls may be the first one


class CallContext(Context):
    """Values are literal, and what is written is kept.

    Site, catalog and connections are those of `base`, which outlives the call and may have many at a time.
    `restrictions` hold for this call alone.
    """

    def __init__(
        self, base: Context, *, restrictions: Sequence[PolicySource] = (), ask_person: Ask | None = None
    ) -> None:
        self._bytes = io.BytesIO()
        out = io.TextIOWrapper(self._bytes, "utf-8", "backslashreplace", newline="", write_through=True)
        super().__init__(
            base.program,
            base.environ,
            Streams(io.StringIO(), out, io.StringIO()),
            literal=True,
            restrictions=restrictions,
            ask_person=ask_person,
        )
        self.options = dict(base.options)
        self._base = base
        self._catalog = base.catalog
        self.notes: list[str] = []
        self.next: str | None = None
        self.total: int | None = None

    @property
    def written(self) -> bytes:
        """What was written to the output instead of printed as a result: a text, or the bytes of a file."""
        return self._bytes.getvalue()

    def site(self) -> Site:
        with _OPENING:
            return self._base.site()

    def client(self) -> Client:
        if self._client is None:
            from ..client.http.http_client import Client

            with _OPENING:
                lender = self._base.client()
            self._client = Client(
                self.site(),
                self.catalog,
                environ=self.environ,
                note=self.note,
                ask=self._ask_person,
                before=self.before_request,
                restrictions=self.restrictions,
                shared=lender,
            )
        return self._client

    def before_request(self, request: Request) -> None:
        """Told of each request before it is sent; may raise."""

    def formats(self) -> FormatContext:
        """How values read, without what only a terminal has."""
        return FormatContext(self.definition.get("text"), self.definition.get("id"), None, self._readable)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def note_more(self, start: object, total: int | None, *, is_sure: bool = True) -> None:
        del is_sure
        self.next, self.total = str(start), total

    def is_foreign(self, word: str) -> bool:
        """What is called is called for the person; only files and standard input are nothing to it."""
        return False

    def close(self) -> None:
        """The catalog is that of `base`."""
        self.hang_up()
