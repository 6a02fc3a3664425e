"""What Markdown can say of marks and inline nodes, found out by reading it back."""

from __future__ import annotations

from ..markdown.block_reader import BlockReader
from ..markdown.block_writer import LANGUAGE, SAID, BlockWriter
from ..markdown.text_patterns import said_by
from ..node_rules import Rules
from ..tree import Attrs, Losses, Mark, Node, text_node

LONG = 10**8  # numbers of items stay below it
LINKED = ("href", "title")


class Sayable:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.reader = BlockReader(rules, Losses())
        self.writer = BlockWriter(rules, Losses())
        self._marks: dict[str, Mark | None] = {}
        self._nodes: dict[str, list[Node] | None] = {}
        self.alerts = rules.alerts

    def mark(self, mark: Mark) -> Mark | None:
        """The mark as it reads back; None where Markdown has none for it."""
        key = repr(mark)
        if key not in self._marks:
            wanted = Mark(mark.kind, {k: v for k, v in mark.attrs.items() if mark.kind == "link" and k in LINKED})
            self._marks[key] = self._read_mark(wanted)
        return self._marks[key]

    def _read_mark(self, mark: Mark) -> Mark | None:
        if mark.kind == "link" and not (isinstance(mark.attrs.get("href"), str) and mark.attrs["href"].strip()):
            return None
        back = self._back([text_node("x", (mark,))])
        fits = len(back) == 1 and back[0].text == "x" and [m.kind for m in back[0].marks] == [mark.kind]
        return back[0].marks[0] if fits else None

    def _back(self, nodes: list[Node]) -> list[Node]:
        return self.reader.inline.read_inline(self.writer.spans.write_inline(nodes).replace("\0", "\ufffd"))

    def nodes_as_read(self, node: Node) -> list[Node] | None:
        """The nodes that its Markdown reads back as: itself without what Markdown leaves out, or words; else None."""
        key = repr((node.kind, node.attrs, node.content))
        if key not in self._nodes:
            self._nodes[key] = self._said(node)
        return self._nodes[key]

    def _said(self, node: Node) -> list[Node] | None:
        if node.kind == "break":
            return [Node("break")]
        if node.kind == "figure":
            back = self._back([node])
            return (
                back
                if len(back) == 1 and _captions(back[0]) == _captions(node)
                else self.nodes_as_read(node.content[0])
            )
        for attrs in self._tries(node):
            back = self._back([Node(node.kind, attrs)])
            if len(back) == 1 and back[0].kind == node.kind and attrs.items() <= back[0].attrs.items():
                return back
        if node.kind == "card" and isinstance(node.attrs.get("url"), str):
            return self._words(text_node(node.attrs["url"], (Mark("link", {"href": node.attrs["url"]}),)))
        words = node.attrs.get("text") or f":{node.attrs.get('name', '')}:" if node.kind == "emoji" else ""
        return self._words(text_node(words)) if words else None

    def _words(self, said: Node) -> list[Node] | None:
        back = self._back([said])
        return back if len(back) == 1 and back[0].text == said.text else None

    def _tries(self, node: Node) -> list[Attrs]:
        """The sets of attributes that a construct of Markdown could say."""
        if node.kind == "image":
            return [{name: node.attrs[name] for name in ("url", "alt") if node.attrs.get(name)}]
        link = self.rules.links.get(node.kind)
        said = said_by(link) if link else []
        sets = [said, said[:2]] if said and node.attrs.get(said[1]) else []
        sets += [one.fields for one in self.writer.spans.patterns.templates if one.kind == node.kind]
        sets += [[said[0], *said[2:]], said[:1]] if said else []
        html = self.rules.definition_of(node.kind).get("html")
        tagged = html.get("attrs", {}) if isinstance(html, dict) else {}
        sets += (
            [[said if isinstance(said, str) else said.get("as", name) for name, said in tagged.items()]]
            if tagged
            else []
        )
        return [
            {name: node.attrs[name] for name in names}
            for names in sets
            if all(isinstance(node.attrs.get(name), str) and node.attrs[name] for name in names)
        ]

    def figure_with_caption(self, image: Node, caption: str) -> Node:
        """An image with its caption as Markdown has it."""
        said = self.nodes_as_read(image) or [image]
        return Node("figure", {}, [said[0], Node("caption", content=[text_node(caption)])])

    def write_blocks(self, nodes: list[Node]) -> str:
        """Blocks as Markdown."""
        words = self.writer.blocks(nodes)
        return "***" + words[3:] if words.startswith("---\n") else words  # no front matter

    def kind_as_read(self, kind: str) -> str:
        """The kind that its Markdown reads back as: one that is like another and has its tag is the other."""
        like = self.rules.definition_of(kind).get("like")
        return like if like and self.rules.tags.get(kind) == self.rules.tags.get(like) else kind

    def has_construct(self, kind: str) -> bool:
        """Whether Markdown has a construct for the kind."""
        return self.writer.has_construct(kind)

    def attrs(self, kind: str, attrs: Attrs) -> Attrs:
        """The attributes of a block that Markdown's construct for it says, as they read back."""
        if kind == "panel":
            return dict(self.alert(kind, attrs) or {})
        if kind == "decision":
            return dict(next(iter(self.rules.definition_of(kind).get("markers", {"": {}}).values())))
        names = SAID.get(kind) or self.writer.said_by_tag(kind)
        said = {name: attrs[name] for name in names if attrs.get(name) is not None}
        start = said.get("start", 1)
        if kind == "numbers" and not (isinstance(start, int) and 0 <= start < LONG and start != 1):
            said.pop("start", None)
        if "language" in said and not LANGUAGE.fullmatch(str(said["language"])):
            del said["language"]
        if "title" in said:
            said["title"] = " ".join(str(said["title"]).split())
        one = {name for name in ("colspan", "rowspan") if said.get(name) == 1} | (
            {"title"} if said.get("title") == "" else set()
        )
        return {name: value for name, value in said.items() if name not in one}

    def alert(self, kind: str, attrs: Attrs) -> Attrs | None:
        """The attributes of the alert that says this panel."""
        return next((a for a in self.alerts.get(kind, {}).values() if a.items() <= attrs.items()), None)


def _captions(node: Node) -> list[str]:
    return [child.content[0].text for child in node.content if child.kind == "caption" and child.content]
