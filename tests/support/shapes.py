"""Texts of every shape that a reader could take more than its share of time for, of n pieces."""

from __future__ import annotations

from collections.abc import Callable

MARKDOWN: dict[str, Callable[[int], str]] = {
    "words": lambda n: "word " * n,
    "paragraphs": lambda n: "some *words* here\n\n" * n,
    "items": lambda n: "- word\n" * n,
    "nested items": lambda n: "".join("  " * (i % 40) + "- word\n" for i in range(n)),
    "deep quotes": lambda n: "> " * n + "word\n",
    "quotes, many levels": lambda n: "".join("> " * (i % 50) + "word\n\n" for i in range(n)),
    "openers": lambda n: "*a **b " * n,
    "closers": lambda n: "a* b** " * n,
    "brackets": lambda n: "[" * n,
    "links": lambda n: "[a](b) " * n,
    "notes": lambda n: "a^[b c] " * n,
    "notes in notes": lambda n: "a^[b " * n + "]" * n,
    "unclosed links": lambda n: "[a](" * n,
    "images": lambda n: "![a](b.png) " * n,
    "references": lambda n: (
        "".join(f"[a][r{i}] " for i in range(n)) + "\n\n" + "".join(f"[r{i}]: /u{i}\n" for i in range(n))
    ),
    "missing references": lambda n: "[a][b] " * n,
    "footnotes": lambda n: "".join(f"a[^{i}]\n\n[^{i}]: note\n\n" for i in range(n)),
    "missing footnotes": lambda n: "a[^x] " * n,
    "table rows": lambda n: "| a | b |\n|---|---|\n" + "| c | *d* |\n" * n,
    "table columns": lambda n: "| a " * n + "|\n" + "|---" * n + "|\n" + "| b " * n + "|\n",
    "ticks": lambda n: "".join("`" * (i % 90 + 1) + " a " for i in range(n)),
    "fences": lambda n: "```\ncode\n```\n\n" * n,
    "html inline": lambda n: "<b>a</b> " * n,
    "html unclosed": lambda n: "<b>a " * n,
    "html blocks": lambda n: "<div>\n\nword\n\n</div>\n\n" * n,
    "html unclosed blocks": lambda n: "<div>\n\nword\n\n" * n,
    "html table": lambda n: "<table>" + "<tr><td>a</td></tr>" * n + "</table>",
    "details": lambda n: "<details><summary>a</summary>\n\nb\n\n</details>\n\n" * n,
    "comments": lambda n: "a <!-- b --> " * n,
    "unclosed comments in HTML": lambda n: "<!-- " * n,
    "unclosed comments": lambda n: "a <!-- b " * n,
    "entities": lambda n: "&amp;&lt;&#35; " * n,
    "ampersands": lambda n: "& " * n + "&" * n,
    "backslashes": lambda n: "\\* " * n + "\\" * n,
    "autolinks": lambda n: "https://example.org/a " * n,
    "bare signs": lambda n: ":a: {b} @[c " * n,
    "dollars": lambda n: "$a$ $b " * n,
    "admonitions": lambda n: '!!! note "A"\n    word\n\n' * n,
    "content tabs": lambda n: '=== "A"\n\n    word\n\n' * n,
    "containers": lambda n: ":::note A\nword\n:::\n\n" * n,
    "nested containers": lambda n: ":::note A\n" * n,
    "definitions": lambda n: "Term\n: meaning\n\n" * n,
    "tasks": lambda n: "- [ ] a\n" * n,
    "headings": lambda n: "# a\n\n" * n,
    "setext": lambda n: "a\n" * n + "---\n",
    "hard breaks": lambda n: "a  \n" * n,
    "blank lines": lambda n: "a" + "\n" * n,
    "spaces": lambda n: "a" + " " * n + "b\n" + " " * n,
    "one word": lambda n: "a" * n,
    "scripts without spaces": lambda n: "**日本**語" * n,
}
STORAGE: dict[str, Callable[[int], str]] = {
    "p": lambda n: "<p>some <em>words</em></p>" * n,
    "words in p": lambda n: "<p>" + "word " * n + "</p>",
    "marks in p": lambda n: "<p>" + "<em>a</em> <strong>b</strong> " * n + "</p>",
    "li": lambda n: "<ul>" + "<li>a</li>" * n + "</ul>",
    "tr": lambda n: "<table><tbody>" + "<tr><td>a</td><td><p>b</p></td></tr>" * n + "</tbody></table>",
    "macros": lambda n: (
        '<ac:structured-macro ac:name="toc"><ac:parameter ac:name="a">b</ac:parameter></ac:structured-macro>' * n
    ),
    "panels": lambda n: (
        '<ac:structured-macro ac:name="info"><ac:rich-text-body><p>a</p></ac:rich-text-body></ac:structured-macro>' * n
    ),
    "cdata": lambda n: (
        '<ac:structured-macro ac:name="code">'
        "<ac:plain-text-body><![CDATA[a]]></ac:plain-text-body></ac:structured-macro>" * n
    ),
    "long cdata": lambda n: (
        '<ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA['
        + "a ]] > b\n" * n
        + "]]></ac:plain-text-body></ac:structured-macro>"
    ),
    "entities": lambda n: "<p>" + "&nbsp;&eacute;&amp;" * n + "</p>",
    "links": lambda n: "<p>" + '<a href="/a">b</a> ' * n + "</p>",
    "users": lambda n: "<p>" + '<ac:link><ri:user ri:account-id="a" /></ac:link> ' * n + "</p>",
    "unknown inline": lambda n: "<p>" + '<x:y z="1">b</x:y> ' * n + "</p>",
    "div in div": lambda n: "<div>" * min(n, 90) + "<p>a</p>" * n + "</div>" * min(n, 90),
    "task list": lambda n: (
        "<ac:task-list>"
        + "<ac:task><ac:task-status>incomplete</ac:task-status><ac:task-body>a</ac:task-body></ac:task>" * n
        + "</ac:task-list>"
    ),
}
