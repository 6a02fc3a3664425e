"""Blocks inside of others: every line behind a sign or white space."""

from __future__ import annotations


def quoted(words: str) -> str:
    return "\n".join(f"> {line}".rstrip(" ") if not line.strip(" ") else f"> {line}" for line in words.split("\n"))


def indented(words: str, width: int) -> str:
    return "\n".join(" " * width + line if line else line for line in words.split("\n"))
