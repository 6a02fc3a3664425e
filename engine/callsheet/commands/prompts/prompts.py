"""What can be asked, and whether somebody is there to answer."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...terminal import escape_line
from ..streams import Streams, is_attended


class Prompts:
    """Questions on standard error. Ctrl-C and the end of the input raise `KeyboardInterrupt`.

    `option` gives the program's options: `no-input` and `dry-run` ask nothing.
    """

    def __init__(self, streams: Streams, environ: Mapping[str, str], option: Callable[[str], Any]) -> None:
        self._streams = streams
        self._environ = environ
        self._option = option
        self.drafts: list[tuple[str, str]] = []  # texts from an editor and their files' names, until they are sent

    @property
    def possible(self) -> bool:
        """Whether something can be asked now. Work for several items at once asks nothing."""
        silent = self._option("no-input") or self._option("dry-run")
        here = threading.current_thread() is threading.main_thread()
        return here and not silent and is_attended(self._streams, self._environ)

    def say(self, text: str) -> None:
        self._streams.err.write(text + "\n")

    def text(self, question: str, default: str = "") -> str:
        """What is typed; empty where nothing is."""
        question = escape_line(question)
        if self._is_plain:
            shown = f" [{escape_line(default)}]" if default else ""
            return self._line(f"{question}{shown}: ").strip() or default
        from .rich_prompts import ask_text

        return ask_text(question, default, color=self._color).strip()

    def choose(self, question: str, labels: Sequence[str]) -> int:
        """The place of the one that is chosen; `labels` must not be empty."""
        question, labels = escape_line(question), [escape_line(label) for label in labels]
        if self._is_plain:
            return self._choose_plainly(question, labels)
        from .rich_prompts import choose

        return choose(question, labels, color=self._color)

    def agree(self, question: str, *, default: bool = True) -> bool:
        """Yes or no."""
        answer = self._line(f"{escape_line(question)} {'[Y/n]' if default else '[y/N]'} ").strip().lower()
        return answer in ("y", "yes") if answer else default

    def keep_drafts(self) -> None:
        """What was written is not lost because it could not be sent."""
        from .editor import keep_text

        for text, name in self.drafts:
            self.say(f"note: your text is in {keep_text(text, name)}")
        self.drafts.clear()

    def edit(self, text: str, name: str) -> str:
        """The text as it is after an editor; `name` is that of the file, and says what it holds by its suffix."""
        from .editor import edited

        return edited(text, name, self._environ)

    @property
    def _is_plain(self) -> bool:
        """Where a terminal can do nothing but lines, or is not this process's own."""
        own = self._streams.input is sys.stdin
        return not own or self._environ.get("TERM", "dumb" if os.name != "nt" else "") in ("dumb", "unknown")

    @property
    def _color(self) -> bool:
        return not (self._option("no-color") or self._environ.get("NO_COLOR") or self._option("color") == "never")

    def _line(self, question: str) -> str:
        self._streams.err.write(question)
        self._streams.err.flush()
        line = self._streams.input.readline()
        if not line:
            raise KeyboardInterrupt
        return line.rstrip("\n")

    def _choose_plainly(self, question: str, labels: Sequence[str]) -> int:
        self.say(question)
        for number, label in enumerate(labels, 1):
            self.say(f"  {number}  {label}")
        while True:
            answer = self._line("Number or name: ").strip()
            found = _chosen(answer, labels)
            if found is not None:
                return found
            self.say(f"{escape_line(answer)!r} is not one of them" if answer else "type one of the numbers")


def _chosen(answer: str, labels: Sequence[str]) -> int | None:
    """By its number, its whole text, or a part that no other has."""
    if answer.isdecimal() and 1 <= int(answer) <= len(labels):
        return int(answer) - 1
    folded = answer.casefold()
    same = [place for place, label in enumerate(labels) if label.casefold() == folded]
    parts = [place for place, label in enumerate(labels) if folded and folded in label.casefold()]
    return next((found[0] for found in (same, parts) if len(found) == 1), None)
