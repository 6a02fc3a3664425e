"""Which of the words and nodes of a new line is which of the old ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, takewhile

from ..tree import Mark
from .block_matching import Block, equal_pairs
from .source_parts import FRAMED, WORD, EditToken, Piece, Wrapper, marked_alike, tokens_of


def pair_tokens(old: list[EditToken], new: list[EditToken], keeping: frozenset[str]) -> dict[int, int]:
    """New place → old place. Nodes of the kinds in `keeping` are the same ones, also where they say something else."""
    source = {b: a for a, b in equal_pairs([token.key for token in old], [token.key for token in new])}
    _apart(old, source)
    _slid(old, new, source)
    _before(old, new, source)
    _lonely(new, source)
    _changed(old, new, source, keeping)
    return source


def _apart(old: list[EditToken], source: dict[int, int]) -> None:
    """Tokens that stand for one piece of source together are that piece only when all of them are there."""
    placed = {a: b for b, a in source.items()}
    for place, token in enumerate(old):
        if token.whole and token is token.whole[0]:
            places = range(place, place + len(token.whole))
            there = [placed.get(one, -1) for one in places]
            if -1 in there or there != list(range(there[0], there[0] + len(there))):
                for one in places:
                    source.pop(placed.get(one, -1), None)


def _slid(old: list[EditToken], new: list[EditToken], source: dict[int, int]) -> None:
    """A space before words that are new, where the one behind them could as well be the old one, and has its marks.

    So what is put at the end of a link is in the link, and not beside it.
    """
    for place in sorted(source):
        last = place + 1
        while last < len(new) and last not in source:
            last += 1
        last -= 1
        if (
            last > place
            and new[place].blank
            and new[last].blank
            and not _marks(new[place]) <= _marks(old[source[place]])
            and _marks(new[last]) <= _marks(old[source[place]])
        ):
            source[last] = source.pop(place)


def _before(old: list[EditToken], new: list[EditToken], source: dict[int, int]) -> None:
    """A space of which there were two is the one that has its marks: the one before the words behind it."""
    for place in [place for place in source if new[place].blank and place + 1 in source]:
        at = source[place + 1] - 1
        if at > source[place] and old[at].blank and _marks(old[at]) == _marks(new[place]) != _marks(old[source[place]]):
            source[place] = at


def _marks(token: EditToken) -> frozenset[str]:
    return frozenset(repr(mark) for mark in token.marks)


def _lonely(new: list[EditToken], source: dict[int, int]) -> None:
    """A space between words that are all new is new, too: no link and no colour stays for it alone."""
    for place in [place for place in source if new[place].blank]:
        if not any(source.get(place + step) == source[place] + step for step in (-1, 1)):
            del source[place]


def _changed(old: list[EditToken], new: list[EditToken], source: dict[int, int], keeping: frozenset[str]) -> None:
    """Pairs the nodes that went with those that came in their place, where they are of the same kinds."""
    places = [(-1, -1), *sorted((a, b) for b, a in source.items()), (len(old), len(new))]
    for (a, b), (c, d) in pairwise(places):
        gone = [place for place in range(a + 1, c) if _kind(old[place]) in keeping]
        came = [place for place in range(b + 1, d) if _kind(new[place]) in keeping]
        if [_kind(old[place]) for place in gone] == [_kind(new[place]) for place in came]:
            source.update(zip(came, gone, strict=True))


def _kind(token: EditToken) -> str:
    if token.node is None:
        return ""
    return FRAMED[0] if token.node.kind in FRAMED else token.node.kind


def taken_apart(old: list[EditToken], new: list[EditToken]) -> list[EditToken]:
    """The new tokens, with a word that was several in the old ones as these again, so that the node among them stays.

    Where the word was edited, what is left of its parts at its start and end is taken off.
    """
    runs = _runs(old)
    if all(len(run) == 1 for run in runs):
        return new
    keys = [run[0].key if len(run) == 1 else ("", "".join(token.text for token in run)) for run in runs]
    pairs = equal_pairs(keys, [token.key for token in new])
    found = {b: runs[a] for a, b in pairs}
    for (a, b), (c, d) in pairwise([(-1, -1), *pairs, (len(runs), len(new))]):
        free = [place for place in range(b + 1, d) if WORD.fullmatch(new[place].text)]
        for run in (run for run in runs[a + 1 : c] if len(run) > 1):
            best = max(free, key=lambda place: _length(run, new[place]), default=None)
            if best is not None and _length(run, new[best]):
                found[best] = run
                free = [place for place in free if place > best]
    return [part for place, token in enumerate(new) for part in _split(token, found.get(place, []))]


def _runs(old: list[EditToken]) -> list[list[EditToken]]:
    """Old tokens, those together that read as one word."""
    runs: list[list[EditToken]] = []
    for token in old:
        last = runs[-1][-1] if runs else EditToken()
        if WORD.fullmatch(token.text) and WORD.fullmatch(last.text) and marked_alike(token, last):
            runs[-1].append(token)
        else:
            runs.append([token])
    return runs


def _split(token: EditToken, run: list[EditToken]) -> list[EditToken]:
    if len(run) < 2:
        return [token]
    head, middle, tail = _parts(run, token.text)
    return [EditToken(words, marks=token.marks) for words in (*head, middle, *tail) if words]


def _length(run: list[EditToken], token: EditToken) -> int:
    head, _middle, tail = _parts(run, token.text)
    return sum(map(len, (*head, *tail)))


def _parts(run: list[EditToken], words: str) -> tuple[list[str], str, list[str]]:
    """The parts of a run that a word starts with, what is new in it, and the parts that it ends with."""
    head: list[str] = []
    tail: list[str] = []
    left = [token.text for token in run]
    while left and words.startswith(left[0]):
        head.append(left.pop(0))
        words = words[len(head[-1]) :]
    while left and words.endswith(left[-1]):
        tail.insert(0, left.pop())
        words = words[: len(words) - len(tail[0])]
    return head, words, tail


def source_tokens(block: Block) -> list[EditToken]:
    """The old words that the words of a new line are looked for among: of the line it was, and of others in it.

    What one line was split into shares its words: each has those from its own first to its last.
    """
    own = [block.match] if block.match is not None else []
    found: list[EditToken] = []
    for old in sorted([*own, *block.lines], key=_document_order):
        if old.part is None or old.part.line is None:
            continue
        tokens = old.part.line if old.match is None else _share(old, block)
        found += [EditToken()] if found and tokens else []  # so that no words of two lines are one
        found += tokens
    return found


def _document_order(block: Block) -> tuple[int, ...]:
    way: list[int] = []
    while block.parent is not None:
        way.append(block.place)
        block = block.parent
    return tuple(reversed(way))


def _share(old: Block, new: Block) -> list[EditToken]:
    """The words of an old line that belong to one of the lines it was split into."""
    heirs = sorted(_heirs(old), key=_document_order)
    tokens = old.part.line if old.part is not None and old.part.line is not None else []
    if len(heirs) < 2:
        return tokens
    said = [tokens_of(heir.node.content) for heir in heirs]
    owners = [number for number, line in enumerate(said) for _ in line]
    pairs = equal_pairs([token.key for token in tokens], [token.key for line in said for token in line])
    mine = next(number for number, heir in enumerate(heirs) if heir is new)
    last = {owners[j]: i for i, j in pairs}  # heir → its last old word
    ends = [last.get(number, -1) + 1 for number in range(len(heirs))]
    ends[-1] = len(tokens)
    start = max(ends[:mine], default=0)
    return tokens[start : max(ends[mine], start)]


def _heirs(old: Block) -> list[Block]:
    root = old.match
    if root is None:
        return []
    top = root
    while top.parent is not None:
        top = top.parent
    return [root, *(block for block in top.walk() if any(one is old for one in block.lines))]


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
    source = pair_tokens(old, new, keeping)
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
