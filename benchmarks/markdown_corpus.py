"""Markdown of strangers: how much of it reads as GitHub shows it.

    python3 -m pip install cmarkgfm html5lib     # GitHub's own renderer, and a browser's parser, to compare with
    python3 benchmarks/markdown_corpus.py --fetch FOLDER     # packages with their dependencies, by npm and pip
    python3 benchmarks/markdown_corpus.py FOLDER

Every Markdown file below the folder becomes a document. Its words, and what each of them is in (a heading, a list of
what depth, a table, code), are compared with those of the page that GitHub's renderer and a browser make of the file.
Printed are: documents that the published schema finds invalid; words that a reader sees here and not there, of a
hundred; files in which a tag of HTML is shown; words that stand in the same structure. Constructs of documentation
tools that GitHub shows as signs or code (boxes, tabs, lists of attributes, see `dialects.py`) are taken for what they
mean first; the last figure is without that.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from corpus import NODES
from dialects import plain

from callsheet.richtext import convert_rich_text
from callsheet.richtext.markdown.front_matter import split_front_matter
from callsheet.richtext.markdown.tags import ELEMENTS
from support import document_schema

# Each brings a few hundred packages along, whose pages were written by as many people.
NPM = [
    *("eslint", "webpack", "mocha", "gatsby-cli"),
    *("react-scripts", "@angular/cli", "jest", "lerna", "ember-cli", "grunt", "gulp", "nuxt", "express-generator"),
    *("standard", "ava", "karma", "serverless"),
]
PYPI = ["mkdocs-material", "jupyterlab", "datasette"]
WORD = re.compile(r"\w+")
TAG = re.compile(rf"</?(?:{'|'.join(sorted(ELEMENTS))})(?:\s[^<>]*)?/?>", re.IGNORECASE)
ALERT = re.compile(r"^([ \t]*>[ \t]*)\[![A-Za-z]+\]", re.MULTILINE)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
SKIPPED = ("script", "style", "head", "svg", "template", "select", "title")

Seen = Iterator[tuple[str, tuple[str, ...]]]


def fetch(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", *NPM]
    subprocess.run(command, cwd=folder, check=True)
    target = str(folder / "python")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", target, *PYPI], check=True)


def files(folder: Path) -> Iterator[tuple[str, str]]:
    """(name, Markdown) of the files below a folder, and of the descriptions of installed packages."""
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".md", ".markdown"):
            words = path.read_text(encoding="utf-8", errors="replace")
        elif path.name == "METADATA" and "Description-Content-Type: text/markdown" in path.read_text(encoding="utf-8"):
            words = path.read_text(encoding="utf-8").partition("\n\n")[2]
        else:
            continue
        if words.strip() and words not in seen:
            seen.add(words)
            yield str(path.relative_to(folder)), words


def shown_by_document(node: Any, inside: tuple[str, ...] = ()) -> Seen:
    kind, attrs = node["type"], node.get("attrs", {})
    if kind == "text":
        code = any(mark["type"] == "code" for mark in node.get("marks", ()))
        yield node["text"], (*inside, "code") if code and "pre" not in inside else inside
        return
    if kind == "emoji":
        yield f" {attrs.get('shortName')} ", inside  # the renderer leaves its name, which GitHub shows as the sign
    said = attrs.get("alt") or attrs.get("title") or attrs.get("text") or (attrs.get("url") if "Card" in kind else "")
    if said:
        yield f" {said} ", inside
    name = {
        "heading": f"h{attrs.get('level')}",
        "codeBlock": "pre",
        "bulletList": "ul",
        "taskList": "ul",
        "orderedList": "ol",
        "table": "table",
    }.get(kind)
    for child in node.get("content", ()):
        yield from shown_by_document(child, (*inside, name) if name else inside)
    if kind in ("paragraph", "heading", "codeBlock", "hardBreak", "taskItem"):
        yield " ", inside


def shown_by_browser(node: Any, inside: tuple[str, ...] = ()) -> Seen:
    name = str(node.tag).rpartition("}")[2] if isinstance(node.tag, str) else "!"
    if name in SKIPPED or name == "!":
        yield node.tail or "", inside
        return
    inner = inside
    if name in (*HEADINGS, "pre", "ul", "ol", "table"):
        inner = (*inside, name)
    elif name in ("code", "kbd", "samp", "tt") and "pre" not in inside:
        inner = (*inside, "code")
    if name == "img":
        yield f" {node.get('alt') or ''} ", inside
    yield node.text or "", inner
    for child in node:
        yield from shown_by_browser(child, inner)
    if name in (*HEADINGS, "p", "pre", "li", "td", "th", "br", "div", "summary", "dt", "dd"):
        yield " ", inside
    yield node.tail or "", inside


def counted(seen: Seen) -> Counter[tuple[str, tuple[str, ...]]]:
    """(word, structure) → how often; a word whose letters are in several marks is one word."""
    found: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for words, inside in seen:
        found.update((word, placed(inside)) for word in WORD.findall(words))
    return found


def placed(inside: tuple[str, ...]) -> tuple[str, ...]:
    """What a document can hold: no heading in a list or a table, and of tables in tables the outer one."""
    outer = next((place for place, name in enumerate(inside) if name in ("ul", "ol", "table")), len(inside))
    inside = tuple(name for place, name in enumerate(inside) if name not in HEADINGS or place < outer)
    if "pre" in inside:
        return (*(name for name in inside if name in ("ul", "ol", "table")), "pre")
    return inside


def words_of(counter: Counter[tuple[str, tuple[str, ...]]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (word, _inside), number in counter.items():
        found[word] += number
    return found


def page(markdown: str) -> Any:
    """What GitHub's renderer and a browser make of Markdown."""
    import cmarkgfm
    import html5lib
    from cmarkgfm.cmark import Options

    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    markdown = ALERT.sub(r"\1", markdown)  # the renderer knows none, and would show the sign
    html = cmarkgfm.markdown_to_html_with_extensions(
        markdown, options=options, extensions=["table", "strikethrough", "autolink", "tasklist", "tagfilter"]
    )
    return html5lib.parse(html, namespaceHTMLElements=False).find("body")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="show this many files with most noise")
    given = parser.parse_args()
    if given.fetch:
        fetch(given.folder)
    total: Counter[str] = Counter()
    known: Counter[str] = Counter()
    rows = []
    for name, words in files(given.folder):
        document = convert_rich_text(words, "markdown", "adf", nodes=NODES).value
        here = counted(shown_by_document(document))
        there = counted(shown_by_browser(page(plain(split_front_matter(words)[1], known))))
        shown = counted(shown_by_browser(page(split_front_matter(words)[1])))
        total["as shown"] += sum((here & shown).values())
        total["shown"] += sum(shown.values())
        extra, lost = words_of(here) - words_of(there), words_of(there) - words_of(here)
        raw = [
            match[0]
            for said, inside in shown_by_document(document)
            if not {"pre", "code"} & set(inside)
            for match in TAG.finditer(said)
        ]
        total["files"] += 1
        total["invalid"] += bool(document_schema.present() and document_schema.problems(document))
        total["raw"] += bool(raw)
        total["words"] += sum(here.values())
        total["there"] += sum(there.values())
        total["extra"] += sum(extra.values())
        total["lost"] += sum(lost.values())
        total["same"] += sum((here & there).values())
        rows.append((sum(extra.values()) + sum(lost.values()), sum((there - here).values()), name, extra, lost, raw))
    report(total, rows, given.worst)
    print("files with constructs that GitHub does not know:", dict(known))


def report(total: Counter[str], rows: list[Any], worst: int) -> None:
    print(f"files                     {total['files']}")
    print(f"invalid documents         {total['invalid'] if document_schema.present() else 'schema not here'}")
    print(f"noise words per 100       {100 * total['extra'] / total['words']:.2f}")
    print(f"words lost per 100        {100 * total['lost'] / total['there']:.2f}")
    print(f"files with raw HTML       {100 * total['raw'] / total['files']:.2f} %")
    print(f"words in their structure  {100 * total['same'] / total['there']:.2f} %")
    print(f"the same as GitHub has it {100 * total['as shown'] / total['shown']:.2f} %")
    for noise, moved, name, extra, lost, raw in sorted(rows, key=lambda row: -row[1])[:worst]:
        print(json.dumps([name, noise, moved, extra.most_common(6), lost.most_common(6), raw[:3]], ensure_ascii=False))


if __name__ == "__main__":
    main()
