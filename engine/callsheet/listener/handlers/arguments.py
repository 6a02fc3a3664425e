"""The words a program is started with: text out of an event is never the program, and never one of its options."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import DefinitionError
from ...language.template import TemplateError, compile_template, fill_text, to_text
from . import CannotSend

END_OF_OPTIONS = "--"


class HandlerArguments:
    """Raises `DefinitionError` for a list that leaves the choice of the program to the sender."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        if _is_template(words[0]):
            raise DefinitionError("handler 'exec': run: the program cannot be taken out of an event")
        if sys.platform == "win32" and words[0].lower().endswith((".bat", ".cmd")) and any(map(_is_template, words)):
            raise DefinitionError("handler 'exec': run: the shell of a batch file would interpret text out of an event")
        self.are_templates = any(map(_is_template, words))
        end = words.index(END_OF_OPTIONS) if END_OF_OPTIONS in words else len(words)
        self.exposed = [word for word in words[:end] if _starts_with_template(word)]

    def fill(self, scope: Mapping[str, Any]) -> list[str]:
        """Raises `CannotSend` where a value would be read as an option."""
        exposed = set(self.exposed)
        arguments = []
        for word in self.words:
            text = as_argument(to_text(fill_text(word, scope)))
            if text.startswith("-") and word in exposed:
                raise CannotSend(f"run: the value of {word} starts with '-': put {END_OF_OPTIONS!r} before it")
            arguments.append(text)
        return arguments


def check_written_out(handler: str, key: str, path: str) -> None:
    """Raises `DefinitionError` for a place in the file system that is to be taken out of an event: it never is."""
    with contextlib.suppress(TemplateError):  # a brace alone is a character
        if _is_template(path):
            raise DefinitionError(f"handler {handler!r}: {key}: {path!r}: a path cannot be taken out of an event")


def as_argument(text: str) -> str:
    """As arguments and variables can carry it: no zero byte, no half of a surrogate pair."""
    plain = text.replace("\0", "\ufffd")
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode()


def _is_template(word: str) -> bool:
    return any(not isinstance(part, str) for part in compile_template(word))


def _starts_with_template(word: str) -> bool:
    parts = compile_template(word)
    return bool(parts) and not isinstance(parts[0], str)
