"""Refuse words that readers stumbled over, in the documentation and in the help of the definitions."""

from __future__ import annotations

import re

from environment import ROOT

# What is refused, as a regular expression, and what to write.
PHRASES = {
    r"\bheader of the site may have it\b": "say who or what, and where",
    r"\bhas no halves\b": "say what happens to the connection",
    r"\b[Oo]ne more is answered\b": "say what is over the limit",
    r"\btags that say nothing\b": "tags without a meaning",
    r"\bWhat is written how\b": "How each ... is written",
    r"\bThe rooms\b": "packages",
    r"\b[Pp]lease (?:note|be aware)\b": "say it without this",
    r"\b[Ss]imply\b|\b[Ee]asily\b": "leave it out",
    r"\b[Ll]everag(?:e|es|ing)\b|\b[Uu]tili[sz]e[sd]?\b": "use",
    r"\bin order to\b": "to",
    r"\bgone on with\b": "continued",
    r"\bwould be forgotten\b": "would be deleted",
    r"\bis nothing that\b": "say what it is",
    r"\bwants credentials\b": "asks for credentials",
    r"\bit has to be said\b": "say who says it",
    r"\b[Nn]obody could tell\b": "cannot be told apart",
    r"\bas if nobody were\b": "as if you were not",
    r"\bnot as expected: it tells\b": "unexpected answer: it has",
    r"\btake (?:the|its|their|this) \w+(?: \w+){0,4} away\b": "remove",
    r"\bbehind this one\b": "after this one",
    r"pipx? install \"?callsheet\b(?!-)": "no index has this package yet: name the checkout or a wheel",
}
FILES = ("README.md", "docs/**/*.md", "definitions/**/*.toml")


def found() -> list[str]:
    """FILE:LINE, the words, and what to write."""
    patterns = [(re.compile(pattern), instead) for pattern, instead in PHRASES.items()]
    return [
        f"{path.relative_to(ROOT)}:{number}: {match[0]!r}: {instead}"
        for glob in FILES
        for path in sorted(ROOT.glob(glob))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for pattern, instead in patterns
        if (match := pattern.search(line))
    ]


if __name__ == "__main__":
    problems = found()
    print("\n".join(problems), end="\n" if problems else "")
    raise SystemExit(1 if problems else 0)
