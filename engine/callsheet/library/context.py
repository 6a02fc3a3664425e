"""One call of a script: what it prints is kept as the service sent it, and what it notes goes to a logger."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..calls.run import CallContext
from ..commands.context import Context
from ..commands.streams import Streams
from ..terminal import escape_line
from .planned import PlannedRequest

if TYPE_CHECKING:
    from ..client.request.model import Request
    from ..language.shape.commands import ViewDefinition
    from ..output.formats import FormatContext

_LOGGER = logging.getLogger("callsheet")
_LOGGER.addHandler(logging.NullHandler())  # without one, warnings would be printed


class ScriptContext(Context):
    """What the calls of one script share. Nothing is printed or asked."""

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        nothing = Streams(io.StringIO(), io.StringIO(), io.StringIO())
        super().__init__(program, environ, nothing, literal=True)

    def say(self, text: str) -> None:
        _LOGGER.warning("%s", escape_line(text))


class ScriptCall(CallContext):
    """With `lazily`, a list is asked for while one goes through it."""

    def __init__(self, base: Context, *, lazily: bool) -> None:
        super().__init__(base)
        self._own_output = self.streams.out
        self._lazily = lazily
        self.is_in_file = False  # it was written where `out` says
        self.view: ViewDefinition | None = None
        self.items: Iterator[Any] | None = None
        self.things: list[Any] = []
        self.requests: list[PlannedRequest] = []

    @property
    def output_format(self) -> str:
        """What the service sends and nothing else, unless a file is written whose name says more."""
        return str(self.option("output") or "json")

    def output_with(self, view: ViewDefinition | None, columns: str | None, *, settled: bool = False) -> Any:
        if self.streams.out is not self._own_output:
            self.is_in_file = True
            return super().output_with(view, columns, settled=settled)
        self.view = view
        return _Kept(self)

    def formats(self) -> FormatContext:
        return super().formats()._replace(names=self._names, address=self._address)

    def markdown(self, value: Any, format: str) -> str:
        """Rich text of a format as Markdown."""
        return self._readable(value, format)

    def keep_items(self, items: Iterable[Any]) -> None:
        found = items if self._lazily else list(items)
        self.items = chain(self.items or (), found)

    def hold(self, request: Request, curl: str) -> None:
        self.requests.append(PlannedRequest.of(request, self.client().shown(request.url), curl))

    def note(self, text: str) -> None:
        super().note(text)
        _LOGGER.info("%s", escape_line(text))

    def say(self, text: str) -> None:
        _LOGGER.warning("%s", escape_line(text))


class _Kept:
    """Stands where a command has its output."""

    is_line_by_line = False

    def __init__(self, call: ScriptCall) -> None:
        self._call = call

    def items(self, items: Iterable[Any]) -> None:
        self._call.keep_items(items)

    def one(self, value: Any) -> None:
        if isinstance(value, list):
            self.items(value)
        else:
            self._call.things.append(value)

    value = one
