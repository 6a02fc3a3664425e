"""The old words that the words of an edited line are looked for among."""

from __future__ import annotations

from .align import equal_pairs
from .compared_blocks import Block
from .source_parts import EditToken, tokens_of


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
