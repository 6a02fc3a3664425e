"""The words inside of a node, such as the caption of an image: only text, in which a node is the words that it says."""

from __future__ import annotations

from collections.abc import Callable

from ..tree import Node
from .source_parts import TOKEN, EditToken, Piece


def label_tokens(token: EditToken, says: Callable[[Piece], str]) -> list[EditToken]:
    """A token as a label has it: without marks, white space of any sort as a space, a node as what it `says`."""
    token.marks = ()
    if token.node is not None:
        return words_of(says(token.pieces[0]), token.pieces[0])
    if token.airy:
        token.text = " "
    return [token]


def words_of(said: str, piece: Piece) -> list[EditToken]:
    """The words that a node says: together they stand for its source."""
    found = [EditToken(" " if words.isspace() else words) for words in TOKEN.findall(said)]
    seen = [place for place, token in enumerate(found) if not token.blank]
    if not seen:
        return [*found, EditToken(pieces=[piece])]
    whole = found[seen[0] : seen[-1] + 1]
    whole[0].pieces = [piece]
    for token in whole:
        token.whole = whole
    return found


def caption_of(node: Node) -> str:
    """The caption of an image as Markdown has it."""
    return "".join(child.text for part in node.content if part.kind == "caption" for child in part.content)
