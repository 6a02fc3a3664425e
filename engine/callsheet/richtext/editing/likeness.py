"""How much two blocks say the same, and which of two rows of blocks are the likest in all."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence

from .compared_blocks import Block

ALIKE = 0.3  # likeness of two blocks between others that stayed, to be one block that was edited
HOLDING_ALIKE = 0.1  # the same for two of one kind that hold blocks, which come and go
OF_ANOTHER_KIND = 0.8  # what likeness counts where a block became one of another kind
COMMON = 40  # blocks: a word that is in more of them is not looked up


def likeness_of_pair(one: Block, other: Block) -> float:
    if one.key == other.key:
        return 1.0
    total = one.words.total() + other.words.total()
    return 2 * (one.words & other.words).total() / total if total else 0.0


def word_weights(blocks: Sequence[Block]) -> dict[str, float]:
    """What a word counts: less the more lines it is in, each once however many blocks around it there are."""
    lines = {id(found): found for block in blocks for found in block.walk()}
    count = Counter(word for line in lines.values() for word in set(line.own))
    return {word: 1 / times for word, times in count.items()}


def likeness_of_pairs(old: Sequence[Block], new: Sequence[Block]) -> dict[tuple[int, int], float]:
    """(old place, new place) → the share of what two blocks of one family say that both say, 0 to 1."""
    if not old or not new:
        return {}
    weights = word_weights([*old, *new])
    totals = [[_sum(block.words, weights) for block in side] for side in (old, new)]
    common = common_words(old, new, weights)
    return {
        (i, j): 2 * rate / (totals[0][i] + totals[1][j]) * (1 if old[i].kind == new[j].kind else OF_ANOTHER_KIND)
        for (i, j), rate in common.items()
    }


def _sum(words: Counter[str], weights: dict[str, float]) -> float:
    return sum(count * weights[word] for word, count in words.items())


def common_words(old: Sequence[Block], new: Sequence[Block], weights: dict[str, float]) -> dict[tuple[int, int], float]:
    holding: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, block in enumerate(old):
        for word in block.words:
            holding[block.family, word].append(i)
    found: dict[tuple[int, int], float] = defaultdict(float)
    for j, block in enumerate(new):
        rare = [word for word in block.words if 0 < len(holding.get((block.family, word), ())) <= COMMON]
        near = {i for word in rare for i in holding[block.family, word]}
        for i in near:
            words = old[i].words
            found[i, j] = sum(
                min(count, words[word]) * weights[word] for word, count in block.words.items() if word in words
            )
    return found


def word_count(block: Block) -> int:
    return block.words.total()


def likest_in_order(old: list[Block], new: list[Block]) -> list[tuple[Block, Block]]:
    """Pairs that keep the order and are the likest in all."""
    rates = {(i, j): rate for (i, j), rate in likeness_of_pairs(old, new).items() if rate >= _least(old[i], new[j])}
    if not rates:
        return []
    best: list[tuple[float, int]] = [(0.0, -1)]  # sums that grow with the place in new at which they are reached
    reached: list[int] = [-1]
    chain: list[tuple[int, int, int]] = []  # (old place, new place, the link before it)
    for i, j in sorted(rates, key=lambda pair: (pair[0], -pair[1])):
        at = bisect_left(reached, j) - 1
        total = best[at][0] + rates[i, j]
        chain.append((i, j, best[at][1]))
        _reach(reached, best, j, (total, len(chain) - 1))
    pairs, link = [], best[-1][1]
    while link >= 0:
        i, j, link = chain[link]
        pairs.append((old[i], new[j]))
    return pairs[::-1]


def _least(old: Block, new: Block) -> float:
    return HOLDING_ALIKE if new.family == "blocks" and old.kind == new.kind else ALIKE


def _reach(reached: list[int], best: list[tuple[float, int]], place: int, link: tuple[float, int]) -> None:
    """Notes a sum at a place, without those at later places that are not larger."""
    at = bisect_left(reached, place)
    if best[at - 1][0] >= link[0]:
        return
    if at < len(reached) and reached[at] == place and best[at][0] >= link[0]:
        return
    end = at
    while end < len(reached) and best[end][0] <= link[0]:
        end += 1
    reached[at:end], best[at:end] = [place], [link]
