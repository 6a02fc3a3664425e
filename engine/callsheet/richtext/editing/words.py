"""Words that were edited, put into the source of those that were there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from ..tree import Mark
from .glued import taken_apart
from .pairs import paired
from .source_parts import EditToken, Piece, Wrapper


@dataclass(slots=True)
class OutputPiece:
    """What is written: source as it was, or a new token; `stack` is around it."""

    stack: tuple[Wrapper, ...]
    source: Piece | None = None
    token: EditToken | None = None
    old: EditToken | None = None
    near: Piece | None = None  # what a new word came in the place of


def merge_tokens(
    lead: list[Piece],
    old: list[EditToken],
    new: list[EditToken],
    *,
    marks: bool = True,
    keeping: frozenset[str] = frozenset(),
) -> list[OutputPiece]:
    """The new tokens in order, each with the source of the old one it is. Without `marks` those of the old stay.

    Nodes of the kinds in `keeping` keep what Markdown does not say of them when they say something else.
    """
    new = taken_apart(old, new)
    source = paired(old, new, keeping)
    fresh: dict[str, Wrapper] = {}
    result = [OutputPiece(piece.stack, piece) for piece in lead]
    reached, replaced = 0, False
    end: list[OutputPiece] = []  # what nobody sees behind the last word stays behind what was put there
    for place, token in enumerate(new):
        if place not in source:
            replaced = True
            around, gone = _around(old, new, source, place, marks=marks)
            stack = _stack(around, token.marks, fresh) if marks else around
            result += _spliced(gone, token, stack) if gone else [OutputPiece(stack, token=token)]
            continue
        result += _unseen(old[reached : source[place]], replaced=replaced)
        was = old[source[place]]
        reached, replaced = source[place] + 1, False
        kept = not marks or _kept(old, new, source, place)
        for piece in was.pieces:
            stack = piece.stack if kept else _stack(piece.stack, token.marks, fresh)
            result.append(OutputPiece(stack, piece, token, was))
        after = [OutputPiece(piece.stack, piece) for piece in was.after]
        if reached == len(old) and place + 1 < len(new):
            end = after
        else:
            result += after
    return result + _unseen(old[reached:], replaced=replaced) + end


def _unseen(gone: list[EditToken], *, replaced: bool) -> list[OutputPiece]:
    """What nobody saw beside words that are gone; space only where others came in their place."""
    unseen = [(piece, replaced and token is gone[-1]) for token in gone for piece in token.after]
    return [
        OutputPiece(piece.stack, piece)
        for piece, spaced in unseen
        if spaced or not (isinstance(piece.source, str) and not piece.source.strip())
    ]


def _kept(old: list[EditToken], new: list[EditToken], source: dict[int, int], place: int) -> bool:
    """Whether its marks are those it had. A space has none of its own: it goes with its neighbours."""
    if not new[place].blank:
        return new[place].shape == old[source[place]].shape or new[place].node is not None
    return any(
        other in source and not new[other].blank and _kept(old, new, source, other)
        for other in (place - 1, place + 1)
        if 0 <= other < len(new)
    )


def _around(
    old: list[EditToken], new: list[EditToken], source: dict[int, int], place: int, *, marks: bool
) -> tuple[tuple[Wrapper, ...], EditToken | None]:
    """What is around a new token: what is around all that it replaces, else around both of its neighbours.

    Beside a neighbour with a mark that it has too, it stands in what is around that one. With it the one token that
    it replaces, where as many came as went.
    """
    first = next((i for i in range(place, -1, -1) if i in source), -1)
    last = next((i for i in range(place, len(new)) if i in source), len(new))
    before, after = source.get(first, -1), source.get(last, len(old))
    gone = old[before + 1 : after]
    even = len(gone) == last - first - 1
    stacks = [piece.stack for token in gone for piece in token.pieces]
    if stacks:
        return _common(stacks), gone[place - first - 1] if even else None
    sides = [old[at].pieces[-1].stack if old[at].pieces else () for at in (before, after) if 0 <= at < len(old)]
    common = _common(sides) if len(sides) > 1 else ()
    longest = max((_shared(stack, new[place], marks=marks) for stack in sides), key=len, default=())
    return max(common, longest, key=len), gone[place - first - 1] if even else None


def _common(stacks: list[tuple[Wrapper, ...]]) -> tuple[Wrapper, ...]:
    """What all of them begin with."""
    common = stacks[0]
    for stack in stacks:
        common = tuple(a for a, b in takewhile(lambda pair: pair[0] is pair[1], zip(common, stack, strict=False)))
    return common


def _shared(stack: tuple[Wrapper, ...], token: EditToken, *, marks: bool) -> tuple[Wrapper, ...]:
    """What is around a neighbour, up to the last mark that a token has, too; in a label, all that is plain text."""
    end = 0
    for place, wrapper in enumerate(stack, 1):
        if (wrapper.mark in token.marks) if marks else wrapper.plain:
            end = place
        elif wrapper.mark is not None:
            break
    return stack[:end]


def _spliced(gone: EditToken, token: EditToken, stack: tuple[Wrapper, ...]) -> list[OutputPiece]:
    """A new word in the place of another: of a word in several pieces, only those that differ are new."""
    pieces = gone.pieces
    near = pieces[0] if pieces else None
    if len(pieces) < 2 or token.node is not None or gone.node is not None:
        return [OutputPiece(stack, token=token, near=near if near and near.stack == stack else None)]
    start, words = 0, token.text
    while start < len(pieces) and words.startswith(pieces[start].text):
        words = words[len(pieces[start].text) :]
        start += 1
    end = len(pieces)
    while end > start and words.endswith(pieces[end - 1].text):
        end -= 1
        words = words[: len(words) - len(pieces[end].text)]
    changed = pieces[start] if start < end else pieces[max(start - 1, 0)]
    middle = [OutputPiece(changed.stack, token=EditToken(words, marks=token.marks), near=changed)] if words else []
    return [
        *(OutputPiece(piece.stack, piece) for piece in pieces[:start]),
        *middle,
        *(OutputPiece(piece.stack, piece) for piece in pieces[end:]),
    ]


def _stack(stack: tuple[Wrapper, ...], marks: tuple[Mark, ...], fresh: dict[str, Wrapper]) -> tuple[Wrapper, ...]:
    """A stack that says these marks: without those that went, and new ones inside of the rest."""
    wanted = {mark.kind: mark for mark in marks}
    kept = []
    for wrapper in stack:
        if wrapper.mark is None or wrapper.mark in marks:
            kept.append(wrapper)
        elif mark := wanted.get(wrapper.mark.kind):
            kept.append(fresh.setdefault(f"{id(wrapper)} {mark!r}", Wrapper(mark, None, base=wrapper)))
    said = {wrapper.mark.kind for wrapper in kept if wrapper.mark}
    for mark in marks:
        if mark.kind not in said:
            place = next((n for n, wrapper in enumerate(kept) if wrapper.plain), len(kept))
            kept.insert(place, fresh.setdefault(repr(mark), Wrapper(mark, None)))
    return tuple(kept)
