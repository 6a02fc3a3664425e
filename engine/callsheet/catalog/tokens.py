"""Identifiers as words: for titles, for the search index, for guessing what was meant."""

from __future__ import annotations

from ..patterns import lazy_pattern

_PIECES = lazy_pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ACRONYMS = frozenset({"api", "cql", "id", "ids", "jql", "sla", "ui", "uri", "url"})


def split_identifier(identifier: str) -> list[str]:
    """`getAllSprints` → get, All, Sprints. Whatever is no letter or digit separates words."""
    return _PIECES.findall(identifier)


def title_of_identifier(identifier: str) -> str:
    """An operation's id as a title: `getAllSprints` → Get all sprints."""
    words = [word.upper() if word.lower() in _ACRONYMS else word.lower() for word in split_identifier(identifier)]
    text = " ".join(words)
    return text[:1].upper() + text[1:]
