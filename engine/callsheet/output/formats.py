"""The column formats: how a value reads in a cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import registry
from ..durations import HOUR, compact, largest
from ..language.template import TemplateError, evaluate

if TYPE_CHECKING:
    from datetime import datetime


class FormatContext(NamedTuple):
    """What formatting depends on beside the value."""

    text: str | None = None  # expression: the name of any object
    id: str | None = None  # expression: the id of any object
    clock: Callable[[], float] | None = None  # seconds since 1970; absent: the system's
    rich: Callable[[Any, str], str] | None = None  # rich text of a named format → readable text
    names: Callable[[str, list[str]], Mapping[str, str]] | None = None  # a naming and ids → the names it knows
    address: Callable[[str, str], str] | None = None  # an address definition and a word → the thing's web address
    palette: Callable[[str], Mapping[str, str]] | None = None  # a palette → word in lower case → style


Format = Callable[[Any, FormatContext], str]
_BAR = 24  # cells of a bar that stands for the whole


def plain(value: Any, context: FormatContext) -> str:
    """Text as it is, an object by its name, a list by its members, anything else as JSON writes it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, dict):
        return _object(value, context)
    if isinstance(value, list):
        return ", ".join(plain(item, context) for item in value)
    return json.dumps(value) if isinstance(value, bool) else repr(value)


def name_of(value: dict[str, Any], context: FormatContext) -> str | None:
    """The name of an object by the program's expression, when that leads to a text or number."""
    if context.text is None:
        return None
    try:
        name = evaluate(context.text, value)
    except TemplateError:
        return None
    return None if name is None or isinstance(name, dict | list) else plain(name, context)


def _object(value: dict[str, Any], context: FormatContext) -> str:
    from ..jsontext import dump_json

    name = name_of(value, context)
    return name if name is not None else dump_json(value) if value else ""


def parse_moment(value: Any) -> datetime | None:
    """A time out of ISO 8601 text, or seconds or milliseconds since 1970; naive only when it is a bare date."""
    from datetime import UTC, datetime

    try:
        if isinstance(value, str) and not (value.isdigit() and len(value) >= 10):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None and len(value) > len("2026-01-31"):
                moment = moment.replace(tzinfo=UTC)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            seconds = float(value)
            moment = datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= 1e11 else seconds, UTC)
        else:
            return None
        moment.astimezone()  # fails at the ends of the calendar, where nothing below could go on
    except (ValueError, OverflowError, OSError):
        return None
    return moment


def _now(context: FormatContext) -> float:
    if context.clock is not None:
        return context.clock()
    import time

    return time.time()


def age(value: Any, context: FormatContext) -> str:
    """How long ago, in its largest unit: `3d`, `2h`, `now`; `in 5m` when it lies ahead."""
    moment = parse_moment(value)
    if moment is None:
        return plain(value, context)
    ago = _now(context) - moment.timestamp()
    length = largest(abs(ago))
    if length is None:
        return "now"
    return length if ago > 0 else f"in {length}"


def local_time(value: Any, context: FormatContext) -> str:
    """`2026-01-31 09:30` in the local zone; a bare date stays one."""
    moment = parse_moment(value)
    if moment is None:
        return plain(value, context)
    return f"{moment:%Y-%m-%d}" if moment.tzinfo is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def local_date(value: Any, context: FormatContext) -> str:
    """`2026-01-31` in the local zone."""
    moment = parse_moment(value)
    if moment is None:
        return plain(value, context)
    return f"{moment if moment.tzinfo is None else moment.astimezone():%Y-%m-%d}"


def joined(value: Any, context: FormatContext) -> str:
    """The members with commas between them; of a table its keys."""
    if isinstance(value, dict):
        return ", ".join(value)
    return plain([value] if not isinstance(value, list) else [item for item in value if item is not None], context)


def size(value: Any, context: FormatContext) -> str:
    """A number of bytes: `512 B`, `1.5 kB`, `20 MB` (powers of 1000)."""
    number = _number(value)
    if number is None:
        return plain(value, context)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(number) < 999.5:
            return _short(number, unit)
        number /= 1000
    return _short(number, "TB")


def _short(number: float, unit: str) -> str:
    return f"{number:.1f}".removesuffix(".0") + f" {unit}" if abs(number) < 9.95 else f"{number:.0f} {unit}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def yes(value: Any, context: FormatContext) -> str:
    """`yes` or `no` for a truth value, in JSON's spelling or as text."""
    words = {True: "yes", False: "no", "true": "yes", "false": "no"}
    if isinstance(value, bool | str):
        return words.get(value.lower() if isinstance(value, str) else value, str(value))
    return plain(value, context)


def duration(value: Any, context: FormatContext) -> str:
    """Seconds as `2h 30m`, the two largest units."""
    seconds = _number(value)
    return compact(seconds) if seconds is not None and abs(seconds) < 1e15 else plain(value, context)


def hours(value: Any, context: FormatContext) -> str:
    """Seconds as hours that can be added up: `2.5`."""
    seconds = _number(value)
    return f"{round(seconds / HOUR, 2):g}" if seconds is not None and abs(seconds) < 1e9 else plain(value, context)


def count(value: Any, context: FormatContext) -> str:
    """How many members a list or table has."""
    return str(len(value)) if isinstance(value, list | dict) else plain(value, context)


def bar(value: Any, context: FormatContext) -> str:
    """A bar for two numbers, a part and the whole: as long as the part is of it. Eighths of a cell are told apart."""
    numbers = [_number(each) for each in value] if isinstance(value, list) else []
    if len(numbers) != 2 or numbers[0] is None or not (whole := numbers[1]):
        return "" if isinstance(value, list) else plain(value, context)
    eighths = round(min(max(numbers[0] / whole, 0), 1) * _BAR * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def first_line(value: Any, context: FormatContext) -> str:
    """The first line of a text."""
    stripped = plain(value, context).strip()
    return stripped.splitlines()[0] if stripped else ""


def document(value: Any, context: FormatContext) -> str:
    """A rich-text document as Markdown; text stays as it is."""
    return context.rich(value, "adf") if context.rich and isinstance(value, dict) else plain(value, context)


def storage(value: Any, context: FormatContext) -> str:
    """Storage XHTML as Markdown."""
    return context.rich(value, "storage") if context.rich and isinstance(value, str) else plain(value, context)


def storage_line(value: Any, context: FormatContext) -> str:
    """The first line of storage XHTML as Markdown."""
    return first_line(storage(value, context), context)


def document_line(value: Any, context: FormatContext) -> str:
    """The first line of a rich-text document as Markdown."""
    return first_line(document(value, context), context)


def column_format(name: str | None) -> Format:
    """The format of that name in the registry; plain text where none is named."""
    return plain if name is None else registry.resolve_entry(registry.COLUMN_FORMATS[name])


# What these make is Markdown.
MARKDOWN = frozenset({"adf", "storage"})
# Shortened for a reader: csv, which programs read, has the value itself.
FOR_READERS = frozenset({"age", "bar", "bytes", "date", "duration", "time", "yes"})
