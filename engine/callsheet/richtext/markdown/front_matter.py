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
TOML_LINE = re.compile(r"line (\d+)")
LONGEST = 20_000


def split_front_matter(source: str) -> tuple[dict[str, Any], str]:
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


def front_matter_fault(source: str) -> str | None:
    """Where the front matter of a text is not well-formed, and why; None where it is, and where there is none."""
    match = FRONT.match(source, 0, LONGEST) if source.startswith(("---", "+++", "\ufeff---")) else None
    if match is None:
        return None
    if match["toml"] is not None:
        return _toml_fault(match["toml"]) if KEY.match(match["toml"]) else None
    return _yaml_fault(match["yaml"]) if match["yaml"][:1].strip() and KEY.match(match["yaml"]) else None


def _toml_fault(words: str) -> str | None:
    import tomllib

    try:
        tomllib.loads(words.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        return TOML_LINE.sub(lambda place: f"line {int(place[1]) + 1}", str(error)[:1].lower() + str(error)[1:])
    return None


def _yaml_fault(words: str) -> str | None:
    import yaml

    try:
        found = yaml.safe_load(words)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return f"line {mark.line + 2 if mark else 2}: {error.problem}"
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return str(error).splitlines()[0] or "nested too deeply"
    return None if _small(found) else "its aliases say too much"


def _small(value: Any) -> bool:
    """Whether a value is not too long when all that aliases stand for is written out."""
    left = LONGEST
    pending = [value]
    while pending and left:
        left -= 1
        one = pending.pop()
        inner = [*one.keys(), *one.values()] if isinstance(one, dict) else one if isinstance(one, (list, set)) else ()
        pending += list(inner)[:left]
    return not pending


def leading_comment(source: str) -> tuple[dict[str, Any], str]:
    """The same of a first line such as `<!-- key: value, key: value -->`, for texts that are not Markdown."""
    match = COMMENT.match(source, 0, LONGEST)
    if match is None:
        return {}, source
    pairs = (pair.split(": ", 1) for pair in match[1].split(", "))
    return {key: int(value) if NUMBER.fullmatch(value) else value for key, value in pairs}, source[match.end() :]


def without_front_matter(source: str) -> str:
    return split_front_matter(source)[1]


def _toml(words: str) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(words.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        return {} if KEY.match(words) else None


def _yaml(words: str) -> dict[str, Any] | None:
    """A table of YAML; one that is not well-formed is front matter all the same when its lines have keys."""
    import yaml

    if not words[:1].strip():
        return None  # two rules
    try:
        # The loader in C is ten times as fast, and is not there on every machine.
        found = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(words).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError):
        return {} if KEY.match(words) else None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        return None
    return found if _small(found) else {}
