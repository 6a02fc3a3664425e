"""Blocks of a text as they are compared: what each says, what it holds, and a key that all have which read alike."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise, takewhile
from typing import Any

from ..tree import Node, walk_nodes
from .source_parts import LINES, Part, Shape, shape_around, shape_of_node

WORD = re.compile(r"\w+")
LEAVES = frozenset({"code", "rule"})
LISTS = frozenset({"bullets", "numbers", "tasks", "decisions"})
_NO_WORDS: Counter[str] = Counter()
FAMILIES = {"table": "table", "row": "row", "cell": "cell", "header": "cell", "item": "item"}


@dataclass(slots=True, eq=False)
class Block:
    """A block as it is compared: a part of the source, or a node of a text."""

    node: Node  # of the text; of a part of the source what Markdown says of it, without the blocks in it
    family: str  # only blocks of one family can be one another
    key: int  # the same for all that read alike
    own: list[str]  # words of what it says itself, those of its text first
    length: int  # how many of them are of its text
    said: int  # how many words it says with all that is in it
    part: Part | None = None
    children: list[Block] = field(default_factory=list)
    parent: Block | None = None
    place: int = 0  # in its parent
    match: Block | None = None
    columns: list[int] | None = None  # of a new table: which column of the old one each of its own is, -1 for none
    lines: list[Block] = field(default_factory=list)  # old lines besides its match that have words of it
    _words: Counter[str] | None = None

    @property
    def kind(self) -> str:
        return self.node.kind

    @property
    def words(self) -> Counter[str]:
        """Also those of the blocks that it is known by; of most blocks nobody ever asks for them."""
        if self._words is None:
            self._words = Counter(self.own)
            for child in _known_by(self):
                self._words.update(child.words)
        return self._words

    @property
    def equal(self) -> bool:
        return self.match is not None and self.match.key == self.key

    @property
    def fixed(self) -> bool:
        """Whether it cannot leave its parent: it has no source of its own."""
        return self.part is not None and self.part.fixed

    def walk(self) -> Iterator[Block]:
        pending = [self]
        while pending:
            found = pending.pop()
            yield found
            pending.extend(reversed(found.children))


class Outline:
    """Makes blocks of parts and of nodes whose keys can be compared with each other."""

    def __init__(self) -> None:
        self._keys: dict[Any, int] = {}

    def of_part(self, part: Part) -> Block:
        children = [self.of_part(one) for one in part.inner]
        block = self._block(part.shell(), children, None if children else part.shape())
        block.part = part
        return block

    def of_nodes(self, nodes: list[Node]) -> Block:
        return self._block(Node("doc"), [self.of_node(node) for node in nodes], None)

    def of_node(self, node: Node) -> Block:
        holds = node.kind not in LINES | LEAVES
        children = [self.of_node(child) for child in node.content] if holds else []
        return self._block(node, children, None if children else shape_of_node(node))

    def _block(self, node: Node, children: list[Block], leaf: Shape | None) -> Block:
        """A block that says what the node does, with these children in the place of the node's own."""
        said = leaf or shape_around(node, [(child.key,) for child in children])
        nodes = (node,) if children else (node, *(found for child in node.content for found in walk_nodes(child)))
        own = [word for found in nodes if found.text for word in WORD.findall(found.text)]
        length = len(own)
        for found in nodes:
            for value in found.attrs.values() if found.attrs else ():
                own += WORD.findall(value) if isinstance(value, str) else ()
        key = self._keys.setdefault(said, len(self._keys))
        total = len(own) + sum(child.said for child in children)
        block = Block(node, family_of(node), key, own, length, total, children=children)
        for place, child in enumerate(children):
            child.parent, child.place = block, place
        return block


def _known_by(block: Block) -> list[Block]:
    """The blocks that a block is known by: an item by its words, whatever list is put into it."""
    if block.family != "item":
        return block.children
    return [child for child in block.children if child.family != "list"] or block.children


def family_of(node: Node) -> str:
    if node.kind in LINES:
        return "line"
    if node.kind == "reference":
        return f"reference {node.attrs.get('label')}"
    if node.kind in LEAVES:
        return node.kind
    return "list" if node.kind in LISTS else FAMILIES.get(node.kind, "blocks")


FEW = 100_000  # pairs of equal things, of which the longest runs are looked for
EDITS, STEPS = 2_000, 20_000_000  # of the shortest way from one to the other; beyond it what differs is all new


def equal_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places with equal things, in order."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    pairs = [(i, i) for i in range(start)]
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    if inner_old and inner_new:
        few = _cost(inner_old, inner_new) <= FEW
        found = _longest(inner_old, inner_new) if few else _shortest(inner_old, inner_new)
        pairs += [(start + a, start + b) for a, b in found]
    return pairs + [(len(old) - end + i, len(new) - end + i) for i in range(end)]


def _longest(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest run in both, then before and after it; its time grows with the cube of what is repeated."""
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]


def _shortest(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """What the fewest edits leave in its place (Myers 1986)."""
    numbers: dict[Hashable, int] = {}
    a, b = ([numbers.setdefault(one, len(numbers)) for one in side] for side in (old, new))
    most = min(EDITS, len(a) + len(b), STEPS // (len(a) + len(b)))
    reached = [0] * (2 * most + 3)  # diagonal → how far it was followed
    before: list[list[int]] = []
    for edits in range(most + 1):
        before.append(reached[most - edits : most + edits + 3])
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(reached, most + 1 + diagonal, down=diagonal == -edits, right=diagonal == edits)
            while x < len(a) and x - diagonal < len(b) and a[x] == b[x - diagonal]:
                x += 1
            reached[most + 1 + diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return _way(before, x, diagonal)
    return []


def _step(reached: list[int], place: int, *, down: bool, right: bool) -> int:
    """Where a diagonal is entered: from the one beside it that came further."""
    if down or (not right and reached[place - 1] < reached[place + 1]):
        return reached[place + 1]
    return reached[place - 1] + 1


def _way(before: list[list[int]], x: int, diagonal: int) -> list[tuple[int, int]]:
    """The pairs on the way that ends at a place, from what was reached with each number of edits."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(before) - 1, -1, -1):
        down, right = diagonal == -edits, diagonal == edits
        place = edits + 1 + diagonal
        entered = _step(before[edits], place, down=down, right=right)
        pairs += [(one, one - diagonal) for one in range(x - 1, entered - 1, -1)]
        came_down = down or (not right and before[edits][place - 1] < before[edits][place + 1])
        x, diagonal = (entered, diagonal + 1) if came_down else (entered - 1, diagonal - 1)
    return pairs[::-1]


def _cost(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    count = Counter(old)
    return sum(count[one] for one in new)


def longest_increasing(places: Sequence[int]) -> set[int]:
    """The indexes of the longest run of places that grow, -1 left out."""
    ends: list[int] = []
    last: list[int] = []
    before: dict[int, int] = {}
    for index, place in enumerate(places):
        if place < 0:
            continue
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
        last[at : at + 1] = [index]
        before[index] = last[at - 1] if at else -1
    found: set[int] = set()
    index = last[-1] if last else -1
    while index >= 0:
        found.add(index)
        index = before[index]
    return found


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
    return HOLDING_ALIKE if new.family in ("blocks", "row") and old.kind == new.kind else ALIKE


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


ELSEWHERE = 0.6  # likeness of two blocks in different places, to be one that was moved
CONTAINED = 0.6  # share of a line's words that come from another one, to be a part of it
FEW_WORDS = 3  # so few words may all be replaced, and it is still the same line


def match_blocks(old: Block, new: Block) -> None:
    """Matches what is below two roots; `match` of each block says which it is, None which is new or gone."""
    Matcher(old, new).match_all()


class Matcher:
    def __init__(self, old: Block, new: Block) -> None:
        self.old = old
        self.new = new
        self._olds, self._news = list(old.walk()), list(new.walk())
        self._parted: set[int] = set()  # lines that are a part of another one

    def match_all(self) -> None:
        _pair(self.old, self.new)
        self._pair_references()
        _pair_unique(*([b for b in side if _can_move(b) and b.said >= FEW_WORDS] for side in (self._olds, self._news)))
        self._pair_titled()
        self._align(self.old, self.new)
        self._pair_alike()
        self._pair_lines()
        for of_another_kind in (False, True):  # what stands in its place is itself before it is what became another
            self._pair_by_content(of_another_kind=of_another_kind)
            self._pair_by_place(self.old, self.new)
        self._pair_left()

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
        _pair_unique(*([child for child in _free(side.children) if _can_move(child)] for side in (old, new)))
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
            holders = [
                [block for block in side if block.family == "blocks" and block.match is None] for side in (gone, came)
            ]
            if len(holders[0]) == len(holders[1]) == 1 and _is_turned(holders[0][0], holders[1][0]):
                _pair(holders[0][0], holders[1][0])
                self._align(holders[0][0], holders[1][0])

    def _pair_left(self) -> None:
        """Pairs the one block of a kind that went from a parent with the one that came, whatever they hold."""
        for new in [block for block in _free(self._news) if block.family == "blocks"]:
            home = new.parent.match if new.parent is not None else None
            gone = [old for old in _free(home.children) if old.kind == new.kind] if home is not None else []
            if len(gone) == 1:
                _pair(gone[0], new)

    def _pair_lines(self) -> None:
        """Lines that were split or joined: a line that came has words of one that stayed, or one that went is in it."""
        lines = [block for block in self._olds if block.family == "line"]
        olds = [block for block in lines if not block.equal]
        news = [block for block in self._news if block.family == "line" and not block.equal]
        if not olds or not news:
            return
        shared = common_words(olds, news, defaultdict(lambda: 1.0))
        rare = common_words(olds, news, word_weights(lines))
        parts: list[tuple[Block, Block]] = []
        for (i, j), common in sorted(shared.items(), key=lambda item: -item[1]):
            old, new = olds[i], news[j]
            if rare[i, j] < 1:
                continue
            if old.match is None and new.match is None and common >= CONTAINED * max(word_count(old), word_count(new)):
                _pair(old, new)
            if new.match is None and not old.equal and _is_part(new, old):
                parts.append((new, old))
            elif old.match is None and not new.equal and _is_part(old, new):
                new.lines.append(old)
                self._parted.add(id(old))
        taken: dict[int, Counter[str]] = defaultdict(Counter)  # of each old line, the words of its parts
        for new, old in parts:
            if new.match is None and id(new) not in self._parted and _is_part(new, old, taken[id(old)]):
                self._part_of(old, new, taken)
        for new in news:
            if new.match is not None and not new.equal:
                self._pair_neighbours(new, new.match, taken)
        self._pair_first(olds, news)

    def _pair_neighbours(self, new: Block, old: Block, taken: dict[int, Counter[str]]) -> None:
        """Lines of a few words beside one."""
        for other in _neighbours(new):
            if other.match is None and not other.lines and other.words <= old.words - new.words - taken[id(old)]:
                self._part_of(old, other, taken)
        rest = sum((part.words for part in new.lines), old.words)
        for other in _neighbours(old):
            if other.match is None and id(other) not in self._parted and other.words <= new.words - rest:
                new.lines.append(other)
                self._parted.add(id(other))
                rest = rest + other.words  # the words of a block are its own

    def _part_of(self, old: Block, new: Block, taken: dict[int, Counter[str]]) -> None:
        new.lines.append(old)
        self._parted.add(id(new))
        taken[id(old)] += new.words

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


def _is_part(line: Block, other: Block, taken: Counter[str] = _NO_WORDS) -> bool:
    """Whether a line is a part of another one: of few words all in the same place, and none that its match has.

    Nor words that are `taken` by its other parts.
    """
    words = (other.words - other.match.words if other.match is not None else other.words) - taken
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


def _pair_unique(olds: list[Block], news: list[Block]) -> None:
    """What stands once in the old and once in the new is the same, wherever it is."""
    counts = [Counter(block.key for block in side) for side in (olds, news)]
    known = {block.key: block for block in olds}
    for block in news:
        if counts[0][block.key] == counts[1][block.key] == 1 and block.match is None and not known[block.key].match:
            _pair(known[block.key], block)


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


def _is_turned(one: Block, other: Block) -> bool:
    """Whether what holds blocks can be another kind of it: both hold a line that can be the same."""
    lines = [block.children for block in (one, other)]
    return (
        len(lines[0]) == len(lines[1]) == 1
        and lines[0][0].family == lines[1][0].family == "line"
        and _replaced(lines[0][0], lines[1][0])
    )


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
