"""Plain text put into Markdown so that it reads back as the same text."""

from __future__ import annotations

import re

from .patterns import Patterns

SPECIAL = re.compile(  # each alternative begins with its sign, so that `re` looks for these signs alone
    r"\\|`|\*(?<!\s\*)|\*(?!\s)|\*$"
    r"|_(?<![^\W_]_)|_(?![^\W_])"  # an underscore inside a word is none of emphasis
    r"|\^(?=\[)|\[(?=[~!^])|\](?=[(\[:])|!(?=\[|$)"
    r"|<(?=[A-Za-z/!?>]|$)|&(?=#|[A-Za-z])"
    r"|~(?=~|$)|~(?<=~~)|~(?<![\s\S]~)"
    r"|\$(?=\S[^$]*\$)|\$(?<!\d\$)$|\{(?=[#.:]|[\w:-]+=)"
)
BRACKETS = re.compile(r"[\[\]]")
LINE_START = re.compile(
    r"(?P<sign>#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|[-=_:|](?=[-=_:|\s]*$)|\|(?=.*\|)"
    r"|!!!|\?\?\?|:::|===|\$\$|[:~](?=\s)"  # of dialects: boxes, tabs, formulas, what a term means
    r"|\[(?=(?: |x|X|![A-Za-z]+)\](?:\s|$))|(?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$))"
)
ODD_SPACE = re.compile(r"[\r\n\0\f\v\x1c-\x1f\x85\u2028\u2029]")
NO_ENTITY = frozenset("\v\x1c\x1d\x1e\x1f\x85")
NO_TARGET = re.compile(r"[\s()<>\\\x00-\x1f]|&(?=#|\w+;)")
EDGE_SPACE = re.compile(r"^\s+|\s+$")


def escape(words: str, patterns: Patterns, *, linked: bool = False) -> str:
    """Text between marks, wherever on its line it stands."""
    if not patterns.suspects.search(words):
        return words
    marks = [match.start() for match in patterns.found(words, linked=linked)]
    marks += [match.start() for match in SPECIAL.finditer(words)]
    if linked:
        marks += [match.start() for match in BRACKETS.finditer(words)]
    if marks:
        parts, end = [], 0
        for place in sorted(set(marks)):
            parts += [words[end:place], "\\"]
            end = place
        words = "".join(parts) + words[end:]
    return words if words.isprintable() else ODD_SPACE.sub(entity, words)


def entity(match: re.Match[str]) -> str:
    """The characters as entities; those that no entity can stand for as they are."""
    return "".join(sign if sign in NO_ENTITY else f"&#{ord(sign)};" for sign in match[0])


def start_of_line(line: str) -> str:
    """A line of a paragraph that nothing takes for a heading, a list, a quote or a rule."""
    match = LINE_START.match(line)
    if not match:
        return line
    if match["number"]:
        return f"{match['number']}\\{line[match.end('number') :]}"
    return "\\" + line


def paragraph_lines(words: str, *, exact: bool) -> str:
    """A paragraph's lines, their starts escaped and their outer white space kept as entities or taken off."""
    first, last = words[:1], words[-1:]
    if (first.isalpha() or first == "`") and last != "\\" and not last.isspace() and "\n" not in words:
        return words
    lines = words.split("\n")
    result = []
    for line in lines:
        end = "\\" if line.endswith("\\") and _breaks(line) else ""
        kept = line.removesuffix(end)
        if kept[:1].isspace() or kept[-1:].isspace():
            kept = EDGE_SPACE.sub(entity if exact else _odd, kept)
        result.append(start_of_line(kept) + end)
    return "\n".join(result)


def _breaks(line: str) -> bool:
    """Whether a line ends in a backslash that is a line break, no escaped one."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _odd(match: re.Match[str]) -> str:
    return entity(match) if match[0].strip(" ") else ""


def link_target(href: str) -> str:
    """A link's target as it stands in parentheses."""
    if href and not NO_TARGET.search(href):
        return href
    safe = re.sub(
        r"[\x00-\x20\x7f-\xa0\u2028\u2029]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), href
    )
    if not href or "(" in safe or ")" in safe or "<" in safe or ">" in safe or "\\" in safe or "&" in safe:
        return "<" + re.sub(r"[<>\\]|&(?=#|\w+;)", r"\\\g<0>", safe) + ">" if href else "<>"
    return safe


def link_title(words: str) -> str:
    clean = " ".join(words.split())
    return ' "' + re.sub(r'(["\\&])', r"\\\1", clean) + '"'
