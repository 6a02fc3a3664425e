"""An application that runs commands beside what it shows, and asks on the screen what they ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from textual.app import App

from ..commands.prompts.editor import edited
from ..errors import CallsheetError, RateLimited
from .call import CommandAnswer, CommandLine, ScreenCall, run_line, told
from .row_list import plain, plain_line
from .text_page import AgreeDialog, ChoiceDialog, Dialog, TextDialog

if TYPE_CHECKING:
    from ..commands.context import Context


class CommandApp(App[None]):
    """Commands run in threads, so that the screen never waits. `every` are the seconds between two looks at a list."""

    def __init__(self, context: Context, *, every: float) -> None:
        super().__init__(ansi_color=True)
        self.context = context
        self.every = every
        self._waiting: set[Future[Any]] = set()  # questions that are on the screen
        self._calls: WeakSet[ScreenCall] = WeakSet()
        self._has_ended = False

    def on_load(self) -> None:
        self._own_loop = asyncio.get_running_loop()

    def show_answer(self, answer: CommandAnswer) -> None:
        raise NotImplementedError

    def run_command(self, line: CommandLine) -> None:
        """Run it, and show its answer."""
        self.run_worker(self._run_and_show(line), group="command")

    async def answer_of(self, line: CommandLine) -> CommandAnswer | None:
        """What a command answers; None where it failed, which the person is told, or was turned away from."""
        try:
            return await asyncio.to_thread(run_line, self.context, self, line, self.started)
        except KeyboardInterrupt:
            self.tell("nothing was done")
        except CallsheetError as error:
            if not self._has_ended:
                self.tell(told(error), is_error=True)
            if isinstance(error, RateLimited):
                raise
        return None

    def started(self, call: ScreenCall) -> None:
        self._calls.add(call)

    async def _run_and_show(self, line: CommandLine) -> None:
        try:
            answer = await self.answer_of(line)
        except RateLimited:
            return
        if answer is not None:
            self.show_answer(answer)

    def tell(self, text: str, *, is_error: bool = False) -> None:
        """A message for a while. It is text: no markup is read."""
        shown = plain(text).plain
        if shown.strip():
            timeout = 12 if is_error else 5
            self.notify(shown, severity="error" if is_error else "information", timeout=timeout, markup=False)

    # Questions, which threads ask

    def text(self, question: str, default: str, *, hidden: bool = False) -> str:
        return str(self._asked(TextDialog(question, default, hidden=hidden)))

    def choose(self, question: str, labels: Sequence[str]) -> int:
        return int(self._asked(ChoiceDialog(question, [[plain_line(label)] for label in labels])))

    def agree(self, question: str) -> bool:
        return bool(self._asked(AgreeDialog(question)))

    def edit(self, text: str, name: str) -> str:
        answer: Future[str] = Future()
        self._wait_for(answer, partial(self._edit, answer, text, name))
        return answer.result()

    def _edit(self, answer: Future[str], text: str, name: str) -> None:
        """The editor has the terminal until it ends."""
        try:
            with self.suspend():
                answer.set_result(edited(text, name, self.context.environ))
        except (CallsheetError, OSError) as error:
            answer.set_exception(error)
        self.refresh(layout=True)

    def _asked(self, dialog: Dialog) -> Any:
        answer: Future[Any] = Future()
        self._wait_for(answer, partial(self.push_screen, dialog, partial(_settle, answer)))
        found = answer.result()
        if found is None:
            raise KeyboardInterrupt
        return found

    def _wait_for(self, answer: Future[Any], show: Callable[[], Any]) -> None:
        if self._has_ended:
            raise KeyboardInterrupt
        self._waiting.add(answer)
        answer.add_done_callback(self._waiting.discard)
        self._own_loop.call_soon_threadsafe(self.call_later, show)

    @property
    def is_asking(self) -> bool:
        """Whether a command waits for an answer."""
        return bool(self._waiting)

    def end(self) -> None:
        """Nothing waits for a person who left, or for a site."""
        self._has_ended = True
        for answer in list(self._waiting):
            _settle(answer, None)
        for call in list(self._calls):
            call.hang_up()


def _settle(answer: Future[Any], value: Any) -> None:
    if not answer.done():
        answer.set_result(value)
