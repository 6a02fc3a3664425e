"""One call of a tool: what may stop it, who agrees to it, and what it prints as the answer."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from ..calls.run import CallContext
from ..commands.context import Journaling
from ..errors import CallsheetError
from ..language.safety import CHANGES
from .collect import Collected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..client.request.gate import ApprovalRequest
    from ..client.request.http_request import Request
    from ..commands.context import Context
    from ..language.shape.commands import ViewDefinition
    from ..output.columns import FormatContext
    from ..policy.policy import PolicySource


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

    def on_note(self, text: str) -> None:
        self.steps, self.doing = self.steps + 1, text

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


class ToolContext(CallContext):
    """A call of an agent: `agreed` is what a person consented to, and `undo` the tool that takes a change back."""

    def __init__(
        self,
        base: Context,
        watch: Watch,
        agreed: frozenset[str] = frozenset(),
        restrictions: Sequence[PolicySource] = (),
        undo: str | None = None,
    ) -> None:
        super().__init__(base, restrictions=restrictions, ask_person=self._ask_through_client)
        self._watch = watch
        self._agreed_to = agreed
        self._changes = 0  # requests so far that may have changed something
        self._printed: Collected | None = None
        self.journaling = AgentJournaling(self, undo)

    @property
    def printed(self) -> Collected | None:
        """What went to the output; None where nothing did."""
        return self._printed

    @property
    def output_format(self) -> str:
        """As for a reader: commands then ask for all that belongs to a thing."""
        return "table"

    def formats(self) -> FormatContext:
        """With the names and the addresses that a reader sees in place of ids."""
        return super().formats()._replace(names=self._names, address=self.web_address)

    def output_with(self, view: ViewDefinition | None, columns: str | None, *, settled: bool = False) -> Any:
        from ..output.columns import split

        asked = split(columns) if columns else None
        self._printed = Collected(view, asked, self.formats(), settled=settled, tick=self._watch.on_items)
        return self._printed

    def note(self, text: str) -> None:
        """A wait for a slow site is a note too: a client sees it while it lasts."""
        super().note(text)
        self._watch.on_note(text)

    def before_request(self, request: Request) -> None:
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
