"""What a person is asked at a terminal, and texts that an editor changes."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import CallsheetError, UsageError, ending_text
from ..terminal import escape_line
from .streams import Streams, is_attended

# A text in a person's own editor.


_USUAL = ("sensible-editor", "nano", "vim", "vi") if os.name != "nt" else ("notepad",)


def edit_in_editor(text: str, name: str, environ: Mapping[str, str]) -> str:
    """The text after the editor has ended. It lies in a file of this name that nobody else can read, for that time.

    Raises `UsageError` where there is no editor, `CallsheetError` where it fails.
    """
    import subprocess  # every command that may ask loads this file, and few start an editor
    import tempfile

    command = editor_command(environ)
    with tempfile.TemporaryDirectory(prefix="callsheet-") as directory:
        path = os.path.join(directory, name)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        try:
            code = subprocess.run([*command, path], check=False).returncode
        except OSError as error:
            raise UsageError(f"cannot start the editor {command[0]}: {error.strerror}", hint="set EDITOR") from None
        if code != 0:
            raise CallsheetError(f"the editor {command[0]} ended with {ending_text(code)}; nothing was sent")
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Its command, by VISUAL or EDITOR, else the first of the usual ones that is installed."""
    if chosen := environ.get("VISUAL", "").strip() or environ.get("EDITOR", "").strip():
        try:
            return shlex.split(chosen, posix=os.name != "nt")
        except ValueError as error:
            problem = f"cannot read the editor's command {chosen!r}: {str(error).lower()}"
            raise UsageError(problem, hint="set EDITOR to the command of your editor") from None
    import shutil

    found = next((name for name in _USUAL if shutil.which(name)), None)
    if found is None:
        raise UsageError("no editor was found", hint="set EDITOR to the command of your editor")
    return [found]


def keep_text(text: str, name: str) -> str:
    """The path of a file that keeps a text which could not be used."""
    import tempfile

    stem, suffix = os.path.splitext(name)
    handle, path = tempfile.mkstemp(prefix=f"{stem}-", suffix=suffix, text=True)
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    return path


# What can be asked, and whether somebody is there to answer.


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
    def can_ask(self) -> bool:
        """Whether something can be asked now. Work for several items at once asks nothing."""
        silent = self._option("no-input") or self._option("dry-run")
        here = threading.current_thread() is threading.main_thread()
        return here and not silent and is_attended(self._streams, self._environ)

    def say(self, text: str) -> None:
        self._streams.err.write(text + "\n")

    def ask_text(self, question: str, default: str = "") -> str:
        """What is typed; empty where nothing is."""
        question = escape_line(question)
        if self._is_plain:
            shown = f" [{escape_line(default)}]" if default else ""
            return self._read_line(f"{question}{shown}: ").strip() or default
        from .rich_prompts import ask_text

        return ask_text(question, default, color=self._has_color).strip()

    def ask_choice(self, question: str, labels: Sequence[str]) -> int:
        """The place of the one that is chosen; `labels` must not be empty."""
        question, labels = escape_line(question), [escape_line(label) for label in labels]
        if self._is_plain:
            return self._choose_plainly(question, labels)
        from .rich_prompts import choose_in_menu

        return choose_in_menu(question, labels, color=self._has_color)

    def ask_agreement(self, question: str, *, default: bool = True) -> bool:
        """Yes or no."""
        answer = self._read_line(f"{escape_line(question)} {'[Y/n]' if default else '[y/N]'} ").strip().lower()
        return answer in ("y", "yes") if answer else default

    def keep_drafts(self) -> None:
        """What was written is not lost because it could not be sent."""
        for text, name in self.drafts:
            self.say(f"note: your text is in {keep_text(text, name)}")
        self.drafts.clear()

    def edit_text(self, text: str, name: str) -> str:
        """The text as it is after an editor; `name` is that of the file, and says what it holds by its suffix."""
        return edit_in_editor(text, name, self._environ)

    @property
    def _is_plain(self) -> bool:
        """Where a terminal can do nothing but lines, or is not this process's own."""
        own = self._streams.input is sys.stdin
        return not own or self._environ.get("TERM", "dumb" if os.name != "nt" else "") in ("dumb", "unknown")

    @property
    def _has_color(self) -> bool:
        return not (self._option("no-color") or self._environ.get("NO_COLOR") or self._option("color") == "never")

    def _read_line(self, question: str) -> str:
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
            answer = self._read_line("Number or name: ").strip()
            found = _chosen_label(answer, labels)
            if found is not None:
                return found
            self.say(f"{escape_line(answer)!r} is not one of them" if answer else "type one of the numbers")


def _chosen_label(answer: str, labels: Sequence[str]) -> int | None:
    """By its number, its whole text, or a part that no other has."""
    if answer.isdecimal() and 1 <= int(answer) <= len(labels):
        return int(answer) - 1
    folded = answer.casefold()
    same = [place for place, label in enumerate(labels) if label.casefold() == folded]
    parts = [place for place, label in enumerate(labels) if folded and folded in label.casefold()]
    return next((found[0] for found in (same, parts) if len(found) == 1), None)
