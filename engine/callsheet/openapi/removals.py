"""Operations that take something away, though their method does not say so."""

from __future__ import annotations

from ..catalog.tokens import split
from .document import HttpOperation

_SAY_WHAT_THEY_DO = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_REMOVING = frozenset(
    {"delete", "destroy", "discard", "erase", "purge", "redact", "remove", "removal", "removals", "revoke", "trash"}
)


def removes(call: HttpOperation, id: str) -> bool:
    """By a word of the id or of the end of the path. A definition corrects it where another call takes it back."""
    if call.method in _SAY_WHAT_THEY_DO:
        return False
    literal = [segment for segment in call.path.split("/") if segment and "{" not in segment]
    words = {word.lower() for text in (id.rpartition(".")[2], *literal[-1:]) for word in split(text)}
    return not words.isdisjoint(_REMOVING)
