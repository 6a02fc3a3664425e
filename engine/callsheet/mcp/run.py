"""One call of a tool: its command runs in a context of its own, and what it prints and notes becomes the answer."""

from __future__ import annotations

import io
import os
import threading
from typing import TYPE_CHECKING, Any

from ..commands.context import Context
from ..commands.journal.keeping import Journaling
from ..commands.streams import Streams
from ..errors import CallsheetError
from ..language.safety import CHANGES
from ..output.formats import FormatContext
from .collect import Collected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..client.gate import ApprovalRequest
    from ..client.http.client import Client
    from ..client.request.model import Request
    from ..language.shape.commands import ViewDefinition
    from ..policy.policy import PolicySource
    from ..sites.site import Site


_OPENING = threading.Lock()  # several calls may be the first one


class ConsentNeeded(Exception):
    """A person has to agree before the call goes on; nothing was changed so far. It is no failure of the command."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


class Watch:
    """What happens to a call meanwhile: how far it is, and whether it was given up. Used from several threads."""

    def __init__(self) -> None:
        self.steps = 0  # requests and items so far
        self.doing = ""
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Nothing more is sent for this call."""
        self._given_up.set()

    def on_request(self, request: Request) -> None:
        self._step(request.name)

    def on_items(self, count: int) -> None:
        self._step(f"{count} items")

    def _step(self, what: str) -> None:
        if self._given_up.is_set():
            raise CallsheetError("stopped: the call was given up")
        self.steps, self.doing = self.steps + 1, what


class AgentJournaling(Journaling):
    """Of every change: nobody sees what an agent does while it does it. `tool` takes one back, where it is offered."""

    def __init__(self, context: Context, tool: str | None) -> None:
        super().__init__(context)
        self._tool = tool

    @property
    def setting(self) -> str:
        return "never" if super().setting == "never" else "always"

    def note(self, path: str, *, has_undo: bool) -> str:
        return super().note(os.path.basename(path), has_undo=has_undo)

    def _to_undo(self, path: str) -> str:
        if self._tool is None:
            return f"a person can take the change back with `{self._context.program} undo {path}`"
        return f"{self._tool} with this name takes the change back"


class ToolContext(Context):
    """A run for an agent: values are literal, nobody is at a terminal, and `agreed` is what a person consented to.

    Site, catalog and connections are those of `base`, which outlives the run. `restrictions` hold for this run alone.
    """

    def __init__(
        self,
        base: Context,
        watch: Watch,
        agreed: frozenset[str] = frozenset(),
        restrictions: Sequence[PolicySource] = (),
        undo: str | None = None,
    ) -> None:
        """`undo` is the tool that takes a change back."""
        self._written = io.StringIO()
        streams = Streams(io.StringIO(), self._written, io.StringIO())
        super().__init__(
            base.program,
            base.environ,
            streams,
            literal=True,
            restrictions=restrictions,
            ask_person=self._ask_through_client,
        )
        self.options = dict(base.options)
        self._base = base
        self._watch = watch
        self._agreed_to = agreed
        self._catalog = base.catalog
        self._changes = 0  # requests so far that may have changed something
        self._printed: Collected | None = None
        self.journaling = AgentJournaling(self, undo)
        self.notes: list[str] = []
        self.next: str | None = None
        self.total: int | None = None

    @property
    def printed(self) -> Collected | None:
        """What went to the output; None where nothing did."""
        return self._printed

    @property
    def written(self) -> str:
        """What was written beside it, as a dry run does."""
        return self._written.getvalue()

    @property
    def output_format(self) -> str:
        """As for a reader: commands then ask for all that belongs to a thing."""
        return "table"

    def site(self) -> Site:
        with _OPENING:
            return self._base.site()

    def client(self) -> Client:
        if self._client is None:
            from ..client.http.client import Client

            with _OPENING:
                lender = self._base.client()
            self._client = Client(
                self.site(),
                self.catalog,
                environ=self.environ,
                note=self.note,
                ask=self._ask_person,
                before=self._before,
                restrictions=self.restrictions,
                shared=lender,
            )
        return self._client

    def output_with(self, view: ViewDefinition | None, columns: str | None, *, settled: bool = False) -> Any:
        from ..output.columns import split

        program = self.definition
        formats = FormatContext(program.get("text"), program.get("id"), None, self._readable)
        asked = split(columns) if columns else None
        self._printed = Collected(view, asked, formats, settled=settled, tick=self._watch.on_items)
        return self._printed

    def note(self, text: str) -> None:
        self.notes.append(text)

    def note_more(self, start: object, total: int | None, *, is_sure: bool = True) -> None:
        del is_sure
        self.next, self.total = str(start), total

    def _before(self, request: Request) -> None:
        self._watch.on_request(request)
        self._changes += request.safety in CHANGES

    def _ask_through_client(self, question: ApprovalRequest) -> bool | None:
        """Who agreed to this very call, and saw its arguments, agreed to all that it sends.

        The call starts over when a person has answered, so nobody can be asked when something was sent already.
        """
        if self._agreed_to:
            return True
        if self._changes - (question.request.safety in CHANGES) > 0:
            return None
        raise ConsentNeeded(question.text)

    def is_foreign(self, word: str) -> bool:
        """What an agent writes is written for the person; only files and standard input are nothing to it."""
        return False

    def will_confirm(self, question: str) -> bool:
        return not (self.option("yes") or self.option("dry-run"))

    def confirm(self, question: str) -> None:
        if not self.will_confirm(question) or question in self._agreed_to:
            return
        if self._changes:
            raise CallsheetError(
                f"{question} Not confirmed: part of the command has already run, so no question can be asked now"
            )
        raise ConsentNeeded(question)

    def close(self) -> None:
        """The catalog is the server's."""
        self.hang_up()
