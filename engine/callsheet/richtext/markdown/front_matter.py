"""Front matter: the YAML or TOML between two lines of hyphens or plus signs that a file of Markdown may start with."""

from __future__ import annotations

import re
from typing import Any

FRONT = re.compile(
    r"\A\ufeff?(?:---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n(?P<toml>.*?)^\+\+\+)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PAIR = r"[A-Za-z_][\w-]*: [^,\n]+?"
COMMENT = re.compile(rf"\A\ufeff?<!-- ({_PAIR}(?:, {_PAIR})*) -->[ \t]*(?:\r?\n|\Z)")
NUMBER = re.compile(r"[0-9]{1,18}")
KEY = re.compile(r"^(?:[\"']?[A-Za-z_][\w .-]*[\"']?\s*[:=]|#)", re.MULTILINE)
LONGEST = 20_000


def split(source: str) -> tuple[dict[str, Any], str]:
    """What the front matter says, and the text after it. Text between two rules that is no table is no front matter."""
    if not source.startswith(("---", "+++", "\ufeff---")):
        return {}, source
    match = FRONT.match(source, 0, LONGEST) if len(source) > LONGEST else FRONT.match(source)
    if match is None:
        return {}, source
    found = _toml(match["toml"]) if match["toml"] is not None else _yaml(match["yaml"])
    if found is None:
        return {}, source
    return found, source[match.end() :]


def commented(source: str) -> tuple[dict[str, Any], str]:
    """The same of a first line such as `<!-- key: value, key: value -->`, for texts that are not Markdown."""
    match = COMMENT.match(source, 0, LONGEST)
    if match is None:
        return {}, source
    pairs = (pair.split(": ", 1) for pair in match[1].split(", "))
    return {key: int(value) if NUMBER.fullmatch(value) else value for key, value in pairs}, source[match.end() :]


def without(source: str) -> str:
    return split(source)[1]


def _toml(words: str) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(words.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        return None


def _yaml(words: str) -> dict[str, Any] | None:
    """A table of YAML; one that is not well-formed is front matter all the same when its lines have keys."""
    import yaml

    if not words[:1].strip():
        return None  # two rules
    try:
        found = yaml.safe_load(words)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {} if KEY.match(words) else None
    return found if isinstance(found, dict) and all(isinstance(key, str) for key in found) else None
