"""Operations that take something away, though their method does not say so."""

from __future__ import annotations

from ..language.safety import removes_something
from .document import HttpOperation


def takes_away(call: HttpOperation, id: str) -> bool:
    """By a word of the id or of the end of the path. A definition corrects it where another call takes it back."""
    literal = [segment for segment in call.path.split("/") if segment and "{" not in segment]
    return removes_something(call.method, [id.rpartition(".")[2], *literal[-1:]])
