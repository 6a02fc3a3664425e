"""Which block of a new text is which block of the old one: in its place or moved, unchanged or edited.

One matcher for edits and for merges. What reads alike is matched first, then what has a place in the text under its
name, then what shares the most words, each in the order of the text and then wherever it stands. What is left is
matched by its place, where as many blocks came as went. No block is matched twice, and only blocks of one family are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise, takewhile
from typing import Any

from .align import equal_pairs, longest_increasing
from .compared_blocks import Block
from .likeness import (
    ALIKE,
    HOLDING_ALIKE,
    common_words,
    likeness_of_pair,
    likeness_of_pairs,
    likest_in_order,
    word_count,
    word_weights,
)

ELSEWHERE = 0.6  # likeness of two blocks in different places, to be one that was moved
CONTAINED = 0.6  # share of a line's words that come from another one, to be a part of it
FEW_WORDS = 3  # so few words may all be replaced, and it is still the same line


def match_blocks(old: Block, new: Block) -> None:
    """Matches what is below two roots; `match` of each block says which it is, None which is new or gone."""
    Matcher(old, new).run()


class Matcher:
    def __init__(self, old: Block, new: Block) -> None:
        self.old = old
        self.new = new
        self._olds, self._news = list(old.walk()), list(new.walk())
        self._parted: set[int] = set()  # lines that are a part of another one

    def run(self) -> None:
        _pair(self.old, self.new)
        self._pair_references()
        self._pair_unique()
        self._pair_titled()
        self._align(self.old, self.new)
        self._pair_alike()
        self._pair_lines()
        for of_another_kind in (False, True):  # what stands in its place is itself before it is what became another
            self._pair_by_content(of_another_kind=of_another_kind)
            self._pair_by_place(self.old, self.new)

    # --- what reads alike ---

    def _pair_references(self) -> None:
        """What has a name in the text is what has that name in the source, the first the first."""
        named: dict[str, list[Block]] = defaultdict(list)
        for block in self._olds:
            if block.kind == "reference":
                named[block.family].append(block)
        for block in self._news:
            if block.kind == "reference" and (found := named.get(block.family)):
                _pair(found.pop(0), block)

    def _pair_unique(self) -> None:
        """What stands once in the old and once in the new is the same, wherever it is."""
        olds, news = ([b for b in side if _can_move(b)] for side in (self._olds, self._news))
        once_old, once_new = _once(olds), _once(news)
        for block in news:
            if block.match is None and block.key in once_new and (found := once_old.get(block.key)) and not found.match:
                _pair(found, block)

    def _pair_titled(self) -> None:
        """What holds blocks under a title that no other one has is the same, whatever came and went in it."""
        olds, news = (
            [block for block in _free(side) if block.family == "blocks" and _title(block)]
            for side in (self._olds, self._news)
        )
        counts = [Counter(map(_title, side)) for side in (olds, news)]
        titled = {_title(block): block for block in olds}
        for block in news:
            if counts[0][_title(block)] == counts[1][_title(block)] == 1:
                _pair(titled[_title(block)], block)

    # --- in the order of the text ---

    def _align(self, old: Block, new: Block) -> None:
        """Matches the children of two blocks that are one another, and what is below them."""
        if new.parent is not None and new.parent.columns is not None and old.parent is new.parent.match:
            _pair_cells(old, new, new.parent.columns)
        pairs = equal_pairs(
            [_mark(child, new) for child in old.children], [_mark(child, old) for child in new.children]
        )
        for i, j in pairs:
            _pair(old.children[i], new.children[j])
        edges = [(-1, -1), *pairs, (len(old.children), len(new.children))]
        for (a, b), (c, d) in pairwise(edges):
            gone = [block for block in old.children[a + 1 : c] if block.match is None]
            came = [block for block in new.children[b + 1 : d] if block.match is None]
            for one, other in likest_in_order(gone, came):
                _pair(one, other)
        if new.family == "table":
            self._pair_rest(old, new)
            new.columns = _columns(old, new)
        for child in new.children:
            if child.match is not None and not child.equal and child.children:
                self._align(child.match, child)

    # --- wherever it stands ---

    def _pair_alike(self) -> None:
        found = True
        while found:
            found = False
            gone = [block for block in _free(self._olds) if _can_move(block)]
            came = [block for block in _free(self._news) if _can_move(block)]
            rated = [(rate, -i, -j) for (i, j), rate in likeness_of_pairs(gone, came).items() if rate >= ELSEWHERE]
            for _rate_of, i, j in sorted(rated, reverse=True):
                one, other = gone[-i], came[-j]
                if one.match is None and other.match is None:
                    _pair(one, other)
                    self._align(one, other)
                    found = True

    def _pair_by_content(self, *, of_another_kind: bool) -> None:
        """A block that holds most of what another one held is that block, whatever was put beside it."""
        news = [block for block in _free(self._news) if block.children]
        for block in reversed(news):
            held: Counter[int] = Counter()
            homes: dict[int, Block] = {}
            for child in block.children:
                was = child.match or next(iter(child.lines), None)
                home = was.parent if was is not None else None
                if (
                    home is not None
                    and home.match is None
                    and (of_another_kind or home.kind == block.kind)
                    and _can_be_home(home, block)
                ):
                    held[id(home)] += child.words.total()
                    homes[id(home)] = home
            for name, words in held.most_common(1):
                if words >= ALIKE * min(homes[name].words.total(), block.words.total()):
                    _pair(homes[name], block)
                    self._align(homes[name], block)

    def _pair_by_place(self, old: Block, new: Block) -> None:
        self._pair_passed(old, new)
        self._pair_rest(old, new)
        for child in new.children:
            if child.match is not None and not child.equal and child.children:
                self._pair_by_place(child.match, child)

    def _pair_passed(self, old: Block, new: Block) -> None:
        """Pairs children that were edited and that one which stayed now stands on the other side of."""
        gone, came = (
            [block for block in side if block.match is None and id(block) not in self._parted and _can_move(block)]
            for side in (old.children, new.children)
        )
        rates = likeness_of_pairs(gone, came) if gone and came else {}
        for (i, j), rate in sorted(rates.items(), key=lambda item: (-item[1], item[0])):
            if rate >= ALIKE and gone[i].match is None and came[j].match is None:
                _pair(gone[i], came[j])
                self._align(gone[i], came[j])

    def _pair_rest(self, old: Block, new: Block) -> None:
        """Pairs children that share no words, where as many of a sort came as went between two that stayed."""
        places = {id(child): place for place, child in enumerate(old.children)}
        stayed = [_place_of(child, places) for child in new.children]
        kept = longest_increasing(stayed)
        edges = [(-1, -1), *((stayed[j], j) for j in sorted(kept)), (len(old.children), len(new.children))]
        for (a, b), (c, d) in pairwise(edges):
            gone, came = (
                [block for block in blocks if block.match is None and id(block) not in self._parted]
                for blocks in (old.children[a + 1 : c], new.children[b + 1 : d])
            )
            for sort in dict.fromkeys(_sort(block) for block in came):
                ones, others = ([block for block in side if _sort(block) == sort] for side in (gone, came))
                if len(ones) == len(others):
                    for one, other in zip(ones, others, strict=True):
                        if _replaced(one, other) or _is_only_child(one, other):
                            _pair(one, other)
                            self._align(one, other)

    def _pair_lines(self) -> None:
        """Lines that were split or joined: a line that came has words of one that stayed, or one that went is in it."""
        lines = [block for block in self._olds if block.family == "line"]
        olds = [block for block in lines if not block.equal]
        news = [block for block in self._news if block.family == "line" and not block.equal]
        if not olds or not news:
            return
        shared = common_words(olds, news, defaultdict(lambda: 1.0))
        rare = common_words(olds, news, word_weights(lines))
        best: dict[int, tuple[float, int]] = {}
        for (i, j), common in sorted(shared.items(), key=lambda item: -item[1]):
            old, new = olds[i], news[j]
            if rare[i, j] < 1:
                continue
            if old.match is None and new.match is None and common >= CONTAINED * max(word_count(old), word_count(new)):
                _pair(old, new)
            if new.match is None and not old.equal and _is_part(new, old):
                best[j] = max(best.get(j, (0.0, 0)), (common, -i))
            elif old.match is None and not new.equal and _is_part(old, new):
                new.lines.append(old)
                self._parted.add(id(old))
        for j, (_share, i) in best.items():
            if news[j].match is None:
                self._part_of(olds[-i], news[j])
        for new in news:
            if new.match is not None and not new.equal:
                for other in _neighbours(new):
                    if other.match is None and not other.lines and other.words <= new.match.words - new.words:
                        self._part_of(new.match, other)
                for old in _neighbours(new.match):
                    if old.match is None and id(old) not in self._parted and old.words <= new.words - new.match.words:
                        new.lines.append(old)
                        self._parted.add(id(old))
        self._pair_first(olds, news)

    def _part_of(self, old: Block, new: Block) -> None:
        new.lines.append(old)
        self._parted.add(id(new))

    def _pair_first(self, olds: list[Block], news: list[Block]) -> None:
        """Of what a line was split into the first is the line; of what was joined, the first is the whole."""
        order = {id(block): place for side in (olds, news) for place, block in enumerate(side)}
        for new in (new for new in news if new.lines):
            old, other = new.match, new.lines[0]
            heir = other.match
            if old is None and heir is not None and heir.parent is new.parent and order[id(new)] < order[id(heir)]:
                heir.match, heir.lines, new.lines = None, [other], []
                new.match, other.match = other, new
                self._parted.add(id(heir))
            elif old is not None and old.parent is other.parent and order[id(other)] < order[id(old)]:
                new.match, old.match, other.match = other, None, new
                new.lines[0] = old


def _free(blocks: list[Block]) -> list[Block]:
    return [block for block in blocks if block.match is None]


def _pair(old: Block, new: Block) -> None:
    """Makes two blocks one another; what is in them, too, where they read alike."""
    pending = [(old, new)]
    while pending:
        one, other = pending.pop()
        if one.match is None and other.match is None:
            one.match, other.match = other, one
        if one.key == other.key:
            pending += zip(one.children, other.children, strict=True)


def _can_move(block: Block) -> bool:
    """Whether it may be found in another place: a cell belongs to its column."""
    return block.family != "cell" and not block.fixed and block.parent is not None and block.kind != "reference"


def _title(block: Block) -> str:
    """The kind and what it says of itself in words; empty where it has none."""
    attrs = block.node.attrs
    return repr((block.kind, sorted(attrs.items()))) if any(isinstance(v, str) for v in attrs.values()) else ""


def _is_only_child(old: Block, new: Block) -> bool:
    """Whether two lines are all that stands in a cell or an item."""
    parents = [block.parent for block in (old, new)]
    return all(
        parent is not None and parent.family in ("cell", "item") and len(parent.children) == 1 for parent in parents
    )


def _is_part(line: Block, other: Block) -> bool:
    """Whether a line is a part of another one: of few words all in the same place, and none that its match has."""
    words = other.words - other.match.words if other.match is not None else other.words
    beside = other.match is not None and other.match.parent is line.parent
    least = max(CONTAINED * word_count(line), word_count(line) if beside else FEW_WORDS)
    return (line.words & words).total() >= least


def _neighbours(line: Block) -> list[Block]:
    """The lines before and behind one up to those that have a match, which are none of its own."""
    around = line.parent.children if line.parent is not None else []
    sides = (reversed(around[: line.place]), around[line.place + 1 :])
    free = [takewhile(lambda block: block.match is None, side) for side in sides]
    return [block for side in free for block in side if block.family == "line"]


def _can_be_home(old: Block, new: Block) -> bool:
    """Whether a block may be another because of what it holds: a cell only in the same table."""
    if old.family != "cell" or new.family != "cell":
        return old.family == new.family and _can_move(old)
    tables = [block.parent.parent if block.parent is not None else None for block in (old, new)]
    return tables[0] is not None and tables[0].match is tables[1]


def _once(blocks: list[Block]) -> dict[int, Block]:
    count = Counter(block.key for block in blocks)
    return {block.key: block for block in blocks if count[block.key] == 1 and block.said >= FEW_WORDS}


def _mark(block: Block, other_parent: Block) -> Any:
    """What is compared of a child: one that is matched is equal to its match alone."""
    if block.match is None:
        return block.key
    if block.match.parent is not other_parent:
        return ("elsewhere", id(block))
    return ("matched", *sorted((id(block), id(block.match))))


def _sort(block: Block) -> tuple[str, str]:
    return (block.family, block.kind if block.family in ("line", "blocks") else "")


def _place_of(block: Block, places: dict[int, int]) -> int:
    """Where a block stood; of a new one, where what it was put around did; -1 where neither stood here."""
    stood = [block] if block.match is not None else block.children
    return next((places[id(one.match)] for one in stood if id(one.match) in places), -1)


def _replaced(one: Block, other: Block) -> bool:
    """Whether a line can be another of which hardly a word is left: one of a few words."""
    if one.family != "line" or likeness_of_pair(one, other) >= ALIKE:
        return True
    return max(one.length, other.length) <= FEW_WORDS


def _columns(old: Block, new: Block) -> list[int] | None:
    """Which column of the old table each of the new one is, over all rows; None where there are no plain columns."""
    wide, wide_new = _width(old), _width(new)
    rows = [(row.match, row) for row in new.children if row.match is not None and row.match.parent is old]
    if not wide or not wide_new or not rows:
        return None
    rates = {
        (i, j): sum(likeness_of_pair(one.children[i], other.children[j]) for one, other in rows) / len(rows)
        for i in range(wide)
        for j in range(wide_new)
    }
    columns: dict[int, int] = {}
    for (i, j), rate in sorted(rates.items(), key=lambda item: (-item[1], abs(item[0][0] - item[0][1]))):
        if rate >= HOLDING_ALIKE and j not in columns and i not in columns.values():
            columns[j] = i
    _fill_by_place(columns, wide, wide_new)
    return [columns.get(j, -1) for j in range(wide_new)]


def _pair_cells(old: Block, new: Block, columns: list[int]) -> None:
    """Pairs the cells of two rows that are one another."""
    for j, i in enumerate(columns):
        if i >= 0 and old.children[i].match is None and new.children[j].match is None:
            _pair(old.children[i], new.children[j])


def _width(table: Block) -> int:
    """The number of columns of a table whose rows all have as many cells, each of one column; else 0."""
    widths = {len(row.children) for row in table.children}
    spans = any(
        name in cell.node.attrs for row in table.children for cell in row.children for name in ("colspan", "rowspan")
    )
    return widths.pop() if len(widths) == 1 and not spans else 0


def _fill_by_place(columns: dict[int, int], wide: int, wide_new: int) -> None:
    """Columns that share no words, where as many came as went between two that stayed."""
    stayed = longest_increasing([columns.get(j, -1) for j in range(wide_new)])
    edges = [(-1, -1), *((columns[j], j) for j in sorted(stayed)), (wide, wide_new)]
    taken = set(columns.values())
    for (a, b), (c, d) in pairwise(edges):
        gone = [i for i in range(a + 1, c) if i not in taken]
        came = [j for j in range(b + 1, d) if j not in columns]
        if len(gone) == len(came):
            columns.update(zip(came, gone, strict=True))
