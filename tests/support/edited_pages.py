"""Dense pages, and edits of several places at once, made together: each edit says what the page is afterwards.

A page is a tree of `Block`s. It is rendered as storage XHTML or as a document; both have ids, colours, widths and
anchors of comments on nearly everything, none of which Markdown can say. An edit changes the tree. So the right
result of an edit is known to the byte: it is the changed tree, rendered. The text that a person would give back is
the Markdown of that result.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

COMMON = ("the", "a", "of", "to", "and", "in", "is", "that", "for", "on", "with", "as", "at", "by", "this", "be", "are")
COLORS = ("rgb(255,86,48)", "rgb(54,179,126)", "rgb(0,101,255)")
SMALL = ("paragraph", "bullets", "numbers")
HOLDS = {  # what a block can be moved into, in both formats
    "panel": (*SMALL, "heading"),
    "expand": (*SMALL, "heading", "table", "panel", "quote", "tasks"),
    "quote": SMALL,
    "column": (*SMALL, "heading", "table", "panel", "quote", "tasks", "expand", "macro"),
    "item": SMALL,
    "cell": (*SMALL, "heading", "panel", "quote"),
    "doc": (*SMALL, "heading", "table", "panel", "quote", "tasks", "expand", "macro"),
}
LISTS = {"bullets": "item", "numbers": "item", "tasks": "task", "table": "row", "row": "cell"}


@dataclass
class Run:
    """Words with one mark, or none."""

    words: list[str]
    mark: str = ""
    id: int = 0


@dataclass
class Block:
    kind: str
    id: int = 0  # 0: made by an edit, so it has nothing that Markdown cannot say
    content: list[Block] = field(default_factory=list)
    line: list[Run] | None = None
    level: int = 2
    widths: list[int] | None = None

    def walk(self) -> Iterator[tuple[Block, Block]]:
        """Each block below, with its parent."""
        for child in self.content:
            yield child, self
            yield from child.walk()


class Pages:
    def __init__(self, seed: int, format: str) -> None:
        self.random = random.Random(seed)
        self.format = format
        self.count = 0
        self.homes: set[int] = set()  # blocks in which others came or went

    def number(self) -> int:
        self.count += 1
        return self.count

    # --- pages ---

    def page(self) -> Block:
        kinds = ["paragraph", "paragraph", "heading", "list", "table", "panel", "expand", "quote", "layout", "tasks"]
        made = [self.block(self.random.choice(kinds), 0) for _ in range(self.random.randint(4, 9))]
        return Block("doc", -1, [self.macro(), *made] if self.random.random() < 0.4 else made)

    def block(self, kind: str, depth: int) -> Block:
        if kind in ("paragraph", "heading", "task"):
            return Block(kind, self.number(), line=self.line(), level=self.random.randint(1, 4))
        if kind == "list":
            kind = self.random.choice(["bullets", "numbers"])
            return Block(kind, self.number(), [self.item(depth) for _ in range(self.random.randint(2, 4))])
        if kind == "tasks":
            return Block(kind, self.number(), [self.block("task", depth) for _ in range(self.random.randint(2, 4))])
        if kind == "table":
            wide = self.random.randint(2, 4)
            rows = [self.row(wide) for _ in range(self.random.randint(2, 4))]
            return Block(kind, self.number(), rows, widths=[100 + 10 * self.number() for _ in range(wide)])
        if kind == "layout":
            return Block(kind, self.number(), [self.column() for _ in range(2)])
        inner = ["paragraph", "paragraph", "list"]
        count = self.random.randint(1, 3)
        return Block(kind, self.number(), [self.block(self.random.choice(inner), depth + 1) for _ in range(count)])

    def item(self, depth: int) -> Block:
        nested = [self.block("list", depth + 1)] if depth < 1 and self.random.random() < 0.2 else []
        return Block("item", self.number(), [self.block("paragraph", depth), *nested])

    def row(self, wide: int) -> Block:
        return Block("row", self.number(), [self.cell() for _ in range(wide)])

    def cell(self) -> Block:
        count = 2 if self.random.random() < 0.1 else 1
        return Block("cell", self.number(), [self.block("paragraph", 2) for _ in range(count)])

    def column(self) -> Block:
        kinds = ["paragraph", "heading", "list", "panel"]
        return Block("column", self.number(), [self.block(self.random.choice(kinds), 1) for _ in range(2)])

    def macro(self) -> Block:
        return Block("macro", self.number())

    def line(self) -> list[Run]:
        runs = []
        for _ in range(self.random.randint(1, 3)):
            mark = self.random.choice(["", "", "color", "comment", "strong"])
            runs.append(Run(self.words(self.random.randint(1, 5)), mark, self.number()))
        return runs

    def words(self, count: int) -> list[str]:
        return [self.random.choice(COMMON) if self.random.random() < 0.4 else self.word() for _ in range(count)]

    def word(self) -> str:
        return f"w{self.number()}x"

    # --- edits ---

    def edited(self, page: Block, count: int, touched: set[int] | None = None) -> tuple[Block, list[str]]:
        """A copy of the page with so many edits, each of blocks that are not `touched`, and the names of the edits.

        What is edited is added to `touched`: another person's edits with it are all of other blocks.
        """
        page = copy.deepcopy(page)
        touched = set() if touched is None else touched
        done: list[str] = []
        self.homes: set[int] = set()
        for _attempt in range(count * 8):
            name = self.random.choice(list(EDITS))
            if EDITS[name](self, page, touched):
                done.append(name)
            if len(done) == count:
                break
        touched |= self.homes
        return page, done

    def pick(self, page: Block, touched: set[int], *kinds: str) -> tuple[Block, Block] | None:
        """A block that no edit has touched yet, and its parent."""
        found = [(b, p) for b, p in page.walk() if b.kind in kinds and b.id > 0 and not _ids(b) & touched]
        found = [(b, p) for b, p in found if p.kind not in ("item", "task") or p.content[0] is not b]
        return self.random.choice(found) if found else None

    def change(self, page: Block, touched: set[int]) -> bool:
        found = [b for b, _ in page.walk() if b.line is not None and b.id > 0 and b.id not in touched]
        found = [b for b in found if _length(b) > 1]  # another word alone could as well be a line that is new
        if not found:
            return False
        block = self.random.choice(found)
        run = self.random.choice(block.line or [])
        run.words[self.random.randrange(len(run.words))] = self.word()
        touched.add(block.id)
        return True

    def words_added(self, page: Block, touched: set[int]) -> bool:
        """Words among others that are marked as they are."""
        return self._words(page, touched, lambda run, at: run.words.__setitem__(slice(at, at), self.words(2)))

    def words_removed(self, page: Block, touched: set[int]) -> bool:
        return self._words(page, touched, lambda run, at: run.words.pop(at))

    def _words(self, page: Block, touched: set[int], edit: Callable[[Run, int], object]) -> bool:
        found = [b for b, _ in page.walk() if b.line is not None and b.id > 0 and b.id not in touched]
        among = [(b, run) for b in found for run in b.line or () if len(run.words) > 2]
        if not among:
            return False
        block, run = self.random.choice(among)
        edit(run, self.random.randrange(1, len(run.words) - 1))
        touched.add(block.id)
        return True

    def insert(self, page: Block, touched: set[int]) -> bool:
        parents = [
            page,
            *(b for b, _ in page.walk() if b.kind in ("panel", "expand", "column") and b.id not in touched),
        ]
        parent = self.random.choice(parents)
        new = Block("paragraph", 0, line=[Run(self.words(self.random.randint(3, 9)))])
        parent.content.insert(self.random.randint(0, len(parent.content)), new)
        self.homes.add(parent.id)
        return True

    def delete(self, page: Block, touched: set[int]) -> bool:
        kinds = ("paragraph", "heading", "bullets", "numbers", "table", "panel", "expand", "quote", "tasks", "macro")
        found = self.pick(page, touched, *kinds)
        if found is None or len(found[1].content) < 2 or found[1].id in touched:
            return False  # two people may not empty what holds something together
        block, parent = found
        _remove(parent, block)
        touched |= _ids(block)
        self.homes.add(parent.id)
        return True

    def move(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(
            page, touched, "paragraph", "heading", "table", "panel", "expand", "quote", "bullets", "tasks"
        )
        if found is None or len(found[1].content) < 3:
            return False
        block, parent = found
        _remove(parent, block)
        least = 1 if parent.kind == "item" else 0
        parent.content.insert(self.random.randint(least, len(parent.content)), block)
        touched |= _ids(block)
        return True

    def move_across(self, page: Block, touched: set[int]) -> bool:
        return self._across(page, touched, "paragraph") is not None

    def move_across_and_change(self, page: Block, touched: set[int]) -> bool:
        """A line that stands elsewhere, with another word in it."""
        block = self._across(page, touched, "paragraph", words=6)
        if block is None:
            return False
        run = self.random.choice(block.line or [])
        run.words[self.random.randrange(len(run.words))] = self.word()
        return True

    def move_holder_across(self, page: Block, touched: set[int]) -> bool:
        kinds = ("heading", "bullets", "numbers", "tasks", "table", "panel", "expand", "quote", "macro")
        return self._across(page, touched, *kinds) is not None

    def _across(self, page: Block, touched: set[int], *kinds: str, words: int = 0) -> Block | None:
        """Moves a block into another one, and says which."""
        found = self.pick(page, touched, *kinds)
        if found is None or len(found[1].content) < 2:
            return None
        block, parent = found
        if _length(block) < words:
            return None
        own = {id(child) for child, _ in block.walk()} | {id(block), id(parent)}
        homes = [b for b in (page, *(b for b, _ in page.walk())) if b.kind in HOLDS and block.kind in HOLDS[b.kind]]
        homes = [b for b in homes if id(b) not in own and b.id not in touched]
        if not homes:
            return None
        home = self.random.choice(homes)
        _remove(parent, block)
        home.content.insert(self.random.randint(0, len(home.content)) if home.kind != "item" else 1, block)
        touched |= _ids(block)
        self.homes |= {home.id, parent.id}
        return block

    def part_across(self, page: Block, touched: set[int]) -> bool:
        """An item, a task or a row that goes into another list or table."""
        found = self.pick(page, touched, "bullets", "numbers", "tasks", "table")
        if found is None or len(found[0].content) < 3:
            return False
        block, _ = found
        own = {id(child) for child, _ in block.walk()} | {id(block)}
        alike = ("bullets", "numbers") if block.kind in ("bullets", "numbers") else (block.kind,)
        homes = [b for b, _ in page.walk() if b.kind in alike and id(b) not in own and not _ids(b) & touched]
        if block.kind == "table":
            homes = [home for home in homes if len(home.content[0].content) == len(block.content[0].content)]
        if not homes:
            return False
        home = self.random.choice(homes)
        part = block.content.pop(self.random.randrange(1, len(block.content)))
        home.content.insert(self.random.randint(1, len(home.content)), part)
        touched |= {block.id, home.id, *_ids(part)}
        return True

    def split(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "paragraph")
        if found is None or found[1].kind not in ("doc", "panel", "expand", "column", "quote"):
            return False
        block, parent = found
        line = block.line or []
        words = [(run, word) for run in line for word in run.words]
        if len(words) < 6:
            return False
        at = self.random.randint(2, len(words) - 2)
        second = Block("paragraph", 0, line=_runs(words[at:]))
        block.line = _runs(words[:at])
        parent.content.insert(_place(parent, block) + 1, second)
        touched.add(block.id)
        return True

    def join(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "paragraph")
        if found is None:
            return False
        block, parent = found
        place = _place(parent, block)
        after = parent.content[place + 1] if place + 1 < len(parent.content) else None
        if after is None or after.kind != "paragraph" or _ids(after) & touched or not after.id:
            return False
        block.line = [*(block.line or []), *(after.line or [])]
        _remove(parent, after)
        touched |= {block.id, after.id}
        return True

    def turn(self, page: Block, touched: set[int]) -> bool:
        """A list of the other sort."""
        found = self.pick(page, touched, "bullets", "numbers")
        if found is None:
            return False
        block, _ = found
        block.kind = "numbers" if block.kind == "bullets" else "bullets"
        touched.add(block.id)
        block.id = 0
        return True

    def turn_line(self, page: Block, touched: set[int]) -> bool:
        """A paragraph that becomes a heading, or the other way round."""
        found = self.pick(page, touched, "paragraph", "heading")
        if found is None or found[1].kind not in ("doc", "panel", "expand", "column"):
            return False
        block, _ = found
        block.kind = "heading" if block.kind == "paragraph" else "paragraph"
        touched.add(block.id)
        block.id = 0
        return True

    def turn_holder(self, page: Block, touched: set[int]) -> bool:
        """A panel that becomes a quote."""
        found = self.pick(page, touched, "panel")
        if found is None or any(child.kind not in SMALL for child in found[0].content):
            return False
        block, _ = found
        block.kind = "quote"
        touched.add(block.id)
        block.id = 0
        return True

    def wrap(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "paragraph")
        if found is None or found[1].kind not in ("doc", "column"):
            return False
        block, parent = found
        parent.content[_place(parent, block)] = Block("quote", 0, [block])
        touched |= _ids(block)
        return True

    def item_added(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "bullets", "numbers")
        if found is None:
            return False
        block, _ = found
        new = Block("item", 0, [Block("paragraph", 0, line=[Run(self.words(4))])])
        block.content.insert(self.random.randint(0, len(block.content)), new)
        touched.add(block.id)
        return True

    def part_removed(self, page: Block, touched: set[int]) -> bool:
        return self._part(page, touched, back=False)

    def part_moved(self, page: Block, touched: set[int]) -> bool:
        return self._part(page, touched, back=True)

    def _part(self, page: Block, touched: set[int], *, back: bool) -> bool:
        """An item, a task or a row that goes, or stands elsewhere in its list."""
        found = self.pick(page, touched, "bullets", "numbers", "tasks", "table")
        if found is None or len(found[0].content) < 3:
            return False
        block, _ = found
        gone = block.content.pop(self.random.randrange(1, len(block.content)))
        if back:
            block.content.insert(self.random.randint(1, len(block.content)), gone)
        touched |= {block.id, *_ids(gone)}
        return True

    def row_added(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "table")
        if found is None:
            return False
        block, _ = found
        cells = [Block("cell", 0, [Block("paragraph", 0, line=[Run(self.words(2))])]) for _ in block.content[0].content]
        block.content.insert(self.random.randint(1, len(block.content)), Block("row", 0, cells))
        touched.add(block.id)
        return True

    def column_added(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "table")
        if found is None or found[0].widths is None:
            return False
        block, _ = found
        place = self.random.randint(0, len(block.content[0].content))
        for row in block.content:
            row.content.insert(place, Block("cell", 0, [Block("paragraph", 0, line=[Run(self.words(2))])]))
        (block.widths or []).insert(place, 0)
        touched.add(block.id)
        return True

    def column_removed(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "table")
        if found is None or len(found[0].content[0].content) < 3:
            return False
        block, _ = found
        place = self.random.randrange(len(block.content[0].content))
        for row in block.content:
            touched |= _ids(row.content.pop(place))
        (block.widths or []).pop(place)
        touched.add(block.id)
        return True

    def columns_swapped(self, page: Block, touched: set[int]) -> bool:
        found = self.pick(page, touched, "table")
        if found is None:
            return False
        block, _ = found
        place = self.random.randrange(len(block.content[0].content) - 1)
        for row in block.content:
            row.content[place : place + 2] = row.content[place : place + 2][::-1]
        if block.widths:
            block.widths[place : place + 2] = block.widths[place : place + 2][::-1]
        touched.add(block.id)
        return True

    # --- formats ---

    def rendered(self, page: Block) -> Any:
        return storage(page) if self.format == "storage" else document(page)


EDITS: dict[str, Callable[[Pages, Block, set[int]], bool]] = {
    edit.__name__: edit
    for edit in (
        Pages.change,
        Pages.words_added,
        Pages.words_removed,
        Pages.insert,
        Pages.delete,
        Pages.move,
        Pages.move_across,
        Pages.move_across_and_change,
        Pages.move_holder_across,
        Pages.split,
        Pages.join,
        Pages.turn,
        Pages.turn_line,
        Pages.turn_holder,
        Pages.wrap,
        Pages.item_added,
        Pages.part_removed,
        Pages.part_moved,
        Pages.part_across,
        Pages.row_added,
        Pages.column_added,
        Pages.column_removed,
        Pages.columns_swapped,
    )
}


def _ids(block: Block) -> set[int]:
    return {block.id, *(child.id for child, _ in block.walk())} - {0}


def _length(block: Block) -> int:
    return sum(len(run.words) for run in block.line or ())


def _place(parent: Block, block: Block) -> int:
    return next(n for n, child in enumerate(parent.content) if child is block)


def _remove(parent: Block, block: Block) -> None:
    del parent.content[_place(parent, block)]


def _runs(words: list[tuple[Run, str]]) -> list[Run]:
    runs: list[tuple[Run, Run]] = []
    for run, word in words:
        if not runs or runs[-1][0] is not run:
            runs.append((run, Run([], run.mark, run.id)))
        runs[-1][1].words.append(word)
    return [run for _, run in runs]


# --- storage XHTML ---

MARKS = {
    "color": lambda run: (f'<span style="color: {COLORS[run.id % 3]};" data-n="{run.id}">', "</span>"),
    "comment": lambda run: (f'<ac:inline-comment-marker ac:ref="r{run.id}">', "</ac:inline-comment-marker>"),
    "strong": lambda run: ("<strong>", "</strong>"),
}


def storage(block: Block) -> str:
    inner = _line(block.line) if block.line is not None else "".join(storage(child) for child in block.content)
    own = f' data-n="{block.id}"' if block.id else ""
    kind = block.kind
    if kind == "doc":
        return inner
    tags = {"paragraph": "p", "bullets": "ul", "numbers": "ol", "item": "li", "quote": "blockquote", "row": "tr"}
    if kind in tags:
        return f"<{tags[kind]}{own}>{inner}</{tags[kind]}>"
    if kind == "heading":
        return f"<h{block.level}{own}>{inner}</h{block.level}>"
    if kind == "cell":
        color = f' data-highlight-colour="#{block.id:06x}"' if block.id else ""
        return f"<td{color}>{inner}</td>"
    if kind == "table":
        cols = "".join(f'<col style="width: {width}.0px;" />' if width else "<col />" for width in block.widths or ())
        return f'<table ac:local-id="t{block.id}"><colgroup>{cols}</colgroup><tbody>{inner}</tbody></table>'
    if kind == "panel":
        head = f'<ac:structured-macro ac:name="info" ac:macro-id="m{block.id}"><ac:parameter ac:name="icon">false'
        return f"{head}</ac:parameter><ac:rich-text-body>{inner}</ac:rich-text-body></ac:structured-macro>"
    if kind == "expand":
        head = f'<ac:structured-macro ac:name="expand" ac:macro-id="m{block.id}"><ac:parameter ac:name="title">'
        return (
            f"{head}more {block.id}</ac:parameter><ac:rich-text-body>{inner}</ac:rich-text-body></ac:structured-macro>"
        )
    if kind == "layout":
        kept = f'<ac:layout-section ac:type="two_equal" ac:breakout-width="{block.id}">{inner}</ac:layout-section>'
        return f"<ac:layout>{kept}</ac:layout>"
    if kind == "column":
        return f'<ac:layout-cell data-n="{block.id}">{inner}</ac:layout-cell>'
    if kind == "tasks":
        return f'<ac:task-list data-n="{block.id}">{inner}</ac:task-list>'
    if kind == "task":
        head = f"<ac:task><ac:task-id>{block.id}</ac:task-id><ac:task-uuid>u{block.id}</ac:task-uuid>"
        return f"{head}<ac:task-status>incomplete</ac:task-status><ac:task-body>{inner}</ac:task-body></ac:task>"
    return f'<ac:structured-macro ac:name="widget" ac:macro-id="m{block.id}" />'


def _line(line: list[Run]) -> str:
    said = []
    for run in line:
        opening, closing = MARKS[run.mark](run) if run.mark else ("", "")
        said.append(f"{opening}{' '.join(run.words)}{closing}")
    return " ".join(said)


# --- documents ---

NAMES = {
    "bullets": "bulletList",
    "numbers": "orderedList",
    "item": "listItem",
    "quote": "blockquote",
    "panel": "panel",
    "expand": "expand",
    "layout": "layoutSection",
    "column": "layoutColumn",
    "table": "table",
    "row": "tableRow",
    "cell": "tableCell",
    "tasks": "taskList",
    "task": "taskItem",
    "paragraph": "paragraph",
    "heading": "heading",
    "macro": "extension",
}


def document(block: Block) -> Any:
    """The document of a page, or the node of a block."""
    if block.kind == "doc":
        return {"type": "doc", "version": 1, "content": [document(child) for child in block.content]}
    attrs: dict[str, Any] = {"localId": f"n{block.id}"} if block.id else {}
    kind = block.kind
    if kind == "heading":
        attrs["level"] = block.level
    elif kind == "panel":
        attrs["panelType"] = "info"
    elif kind == "expand":
        attrs["title"] = f"more {block.id}"
    elif kind == "column":
        attrs["width"] = 50
    elif kind == "cell" and block.id:
        attrs["background"] = f"#{block.id:06x}"
    elif kind == "task":
        attrs["state"] = "TODO"
    elif kind == "macro":
        attrs |= {"extensionKey": f"k{block.id}", "extensionType": "app"}
    elif kind == "table":
        attrs["layout"] = "wide"
    node: dict[str, Any] = {"type": NAMES[kind]}
    if attrs:
        node["attrs"] = attrs
    if block.line is not None:
        node["content"] = _texts(block.line)
    elif kind != "macro":
        node["content"] = [document(child) for child in block.content]
    if kind == "table":
        for row in node["content"]:
            for cell, width in zip(row["content"], block.widths or (), strict=True):
                if width and "attrs" in cell:
                    cell["attrs"] = {**cell["attrs"], "colwidth": [width]}
    return node


def _texts(line: list[Run]) -> list[Any]:
    found: list[Any] = []
    for number, run in enumerate(line):
        if number:
            found.append({"type": "text", "text": " "})
        marks = {
            "color": [{"type": "textColor", "attrs": {"color": f"#{run.id:06x}"}}],
            "comment": [{"type": "annotation", "attrs": {"id": f"r{run.id}", "annotationType": "inlineComment"}}],
            "strong": [{"type": "strong"}],
        }.get(run.mark)
        found.append({"type": "text", "text": " ".join(run.words), **({"marks": marks} if marks else {})})
    merged: list[Any] = []
    for one in found:
        if merged and merged[-1].get("marks") == one.get("marks"):
            merged[-1] = {**merged[-1], "text": merged[-1]["text"] + one["text"]}
        else:
            merged.append(one)
    return merged


# What a page says of its nodes besides words: ids, widths, colours, anchors of comments.
KEPT = re.compile(
    r'data-n="\d+"|macro-id="m\d+"|ac:ref="r\d+"|width: \d+|local-id="t\d+"|colour="#\w+"|breakout-width="\d+"'
    r"|task-id>\d+|uuid>u\d+|color: [^;]*;"
    r'|"localId": "n\d+"|"background": "#\w+"|"colwidth": \[\d+\]|"color": "#\w+"|"id": "r\d+"|"extensionKey": "k\d+"'
)


def kept_values(page: str) -> Counter[str]:
    """How often each of these stands in a page that is `said`."""
    return Counter(KEPT.findall(page))


def said(value: Any) -> str:
    """A rendered page as text, to be compared; runs of text that are marked alike as one."""
    return value if isinstance(value, str) else json.dumps(_joined(value), ensure_ascii=False, sort_keys=True)


def _joined(node: Any) -> Any:
    content: list[Any] = []
    for child in [_joined(child) for child in node.get("content", ())]:
        last = content[-1] if content else {}
        if "text" in child and "text" in last and child.get("marks") == last.get("marks"):
            content[-1] = {**last, "text": last["text"] + child["text"]}
        else:
            content.append(child)
    return {**node, "content": content} if "content" in node else node
