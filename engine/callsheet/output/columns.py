"""Which columns a table or csv has: the view's, those asked for, or those the items suggest; and how a cell reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import registry
from ..durations import HOUR, compact_duration, largest_unit
from ..errors import UsageError, closest_names, did_you_mean
from ..language.template import TemplateError, compile_expression, evaluate
from ..patterns import lazy_pattern
from .clean_text import one_line
from .table import Cell

if TYPE_CHECKING:
    from datetime import datetime

    from ..language.shape.commands import ColumnDefinition, ViewDefinition


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


def plain_cell(value: Any, context: FormatContext) -> str:
    """Text as it is, an object by its name, a list by its members, anything else as JSON writes it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, dict):
        return _object_name(value, context)
    if isinstance(value, list):
        return ", ".join(plain_cell(item, context) for item in value)
    return json.dumps(value) if isinstance(value, bool) else repr(value)


def name_of(value: dict[str, Any], context: FormatContext) -> str | None:
    """The name of an object by the program's expression, when that leads to a text or number."""
    if context.text is None:
        return None
    try:
        name = evaluate(context.text, value)
    except TemplateError:
        return None
    return None if name is None or isinstance(name, dict | list) else plain_cell(name, context)


def _object_name(value: dict[str, Any], context: FormatContext) -> str:
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


def _now_of(context: FormatContext) -> float:
    if context.clock is not None:
        return context.clock()
    import time

    return time.time()


def age_cell(value: Any, context: FormatContext) -> str:
    """How long ago, in its largest unit: `3d`, `2h`, `now`; `in 5m` when it lies ahead."""
    moment = parse_moment(value)
    if moment is None:
        return plain_cell(value, context)
    ago = _now_of(context) - moment.timestamp()
    length = largest_unit(abs(ago))
    if length is None:
        return "now"
    return length if ago > 0 else f"in {length}"


def local_time(value: Any, context: FormatContext) -> str:
    """`2026-01-31 09:30` in the local zone; a bare date stays one."""
    moment = parse_moment(value)
    if moment is None:
        return plain_cell(value, context)
    return f"{moment:%Y-%m-%d}" if moment.tzinfo is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def local_date(value: Any, context: FormatContext) -> str:
    """`2026-01-31` in the local zone."""
    moment = parse_moment(value)
    if moment is None:
        return plain_cell(value, context)
    return f"{moment if moment.tzinfo is None else moment.astimezone():%Y-%m-%d}"


def joined_cell(value: Any, context: FormatContext) -> str:
    """The members with commas between them; of a table its keys."""
    if isinstance(value, dict):
        return ", ".join(value)
    return plain_cell([value] if not isinstance(value, list) else [item for item in value if item is not None], context)


def size_cell(value: Any, context: FormatContext) -> str:
    """A number of bytes: `512 B`, `1.5 kB`, `20 MB` (powers of 1000)."""
    number = _number_of(value)
    if number is None:
        return plain_cell(value, context)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(number) < 999.5:
            return _short_number(number, unit)
        number /= 1000
    return _short_number(number, "TB")


def _short_number(number: float, unit: str) -> str:
    return f"{number:.1f}".removesuffix(".0") + f" {unit}" if abs(number) < 9.95 else f"{number:.0f} {unit}"


def _number_of(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def yes_or_no_cell(value: Any, context: FormatContext) -> str:
    """`yes` or `no` for a truth value, in JSON's spelling or as text."""
    words = {True: "yes", False: "no", "true": "yes", "false": "no"}
    if isinstance(value, bool | str):
        return words.get(value.lower() if isinstance(value, str) else value, str(value))
    return plain_cell(value, context)


def duration_cell(value: Any, context: FormatContext) -> str:
    """Seconds as `2h 30m`, the two largest units."""
    seconds = _number_of(value)
    return compact_duration(seconds) if seconds is not None and abs(seconds) < 1e15 else plain_cell(value, context)


def hours_cell(value: Any, context: FormatContext) -> str:
    """Seconds as hours that can be added up: `2.5`."""
    seconds = _number_of(value)
    return f"{round(seconds / HOUR, 2):g}" if seconds is not None and abs(seconds) < 1e9 else plain_cell(value, context)


def count_cell(value: Any, context: FormatContext) -> str:
    """How many members a list or table has."""
    return str(len(value)) if isinstance(value, list | dict) else plain_cell(value, context)


def bar_cell(value: Any, context: FormatContext) -> str:
    """A bar for two numbers, a part and the whole: as long as the part is of it. Eighths of a cell are told apart."""
    numbers = [_number_of(each) for each in value] if isinstance(value, list) else []
    if len(numbers) != 2 or numbers[0] is None or not (whole := numbers[1]):
        return "" if isinstance(value, list) else plain_cell(value, context)
    eighths = round(min(max(numbers[0] / whole, 0), 1) * _BAR * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def first_line(value: Any, context: FormatContext) -> str:
    """The first line of a text."""
    stripped = plain_cell(value, context).strip()
    return stripped.splitlines()[0] if stripped else ""


def document_cell(value: Any, context: FormatContext) -> str:
    """A rich-text document as Markdown; text stays as it is."""
    return context.rich(value, "adf") if context.rich and isinstance(value, dict) else plain_cell(value, context)


def storage_cell(value: Any, context: FormatContext) -> str:
    """Storage XHTML as Markdown."""
    return context.rich(value, "storage") if context.rich and isinstance(value, str) else plain_cell(value, context)


def storage_line(value: Any, context: FormatContext) -> str:
    """The first line of storage XHTML as Markdown."""
    return first_line(storage_cell(value, context), context)


def document_line(value: Any, context: FormatContext) -> str:
    """The first line of a rich-text document as Markdown."""
    return first_line(document_cell(value, context), context)


def column_format(name: str | None) -> Format:
    """The format of that name in the registry; plain text where none is named."""
    return plain_cell if name is None else registry.resolve_entry(registry.COLUMN_FORMATS[name])


# What these make is Markdown.
MARKDOWN = frozenset({"adf", "storage"})
# Shortened for a reader: csv, which programs read, has the value itself.
FOR_READERS = frozenset({"age", "bar", "bytes", "date", "duration", "time", "yes"})


# What items without a view have to show: their leaves, and the nested objects that have a name.


Path = tuple[str | int, ...]

_DEPTH = 4


def leaf_paths(sample: Iterable[Any], context: FormatContext) -> list[Path]:
    """The paths of the leaves in a sample of items, in order of first appearance.

    Links and what is empty in the whole sample are left out, unless there is nothing else.
    """
    found: dict[Path, bool] = {}
    for item in sample:
        for path, value in leaves_of(item, context):
            found[path] = found.get(path, False) or _is_shown(value)
    return [path for path, telling in found.items() if telling] or list(found)


def leaves_of(value: Any, context: FormatContext, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf under a value with its path; a named object and a list inside an object count as leaves."""
    if isinstance(value, dict) and value and len(path) < _DEPTH and not (path and _is_named(value, context)):
        for key, item in value.items():
            yield from leaves_of(item, context, (*path, key))
    elif isinstance(value, list) and not path:
        yield from (((index,), item) for index, item in enumerate(value))
    else:
        yield path, value


def path_getter(path: Path) -> Callable[[Any], Any]:
    def get(item: Any) -> Any:
        for step in path:
            if isinstance(item, dict) and isinstance(step, str):
                item = item.get(step)
            elif isinstance(item, list) and isinstance(step, int) and step < len(item):
                item = item[step]
            else:
                return None
        return item

    return get


def _is_named(value: dict[str, Any], context: FormatContext) -> bool:
    """Whether an object is a mere reference to something with a name.

    One that holds such references itself is structure, unless it is a thing of its own with an id.
    """
    if name_of(value, context) is None:
        return False
    nested = (item for item in value.values() if isinstance(item, dict))
    return _has_id(value, context) or not any(name_of(item, context) is not None for item in nested)


def _has_id(value: dict[str, Any], context: FormatContext) -> bool:
    return context.id is not None and name_of(value, FormatContext(text=context.id)) is not None


def _is_shown(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value) and not value.startswith(("https://", "http://"))
    return value is not None and value not in ([], {})


# Which columns a table or csv has: the view's, those asked for, or those the items suggest.


Item = Any

_WORD = lazy_pattern(r"\w[\w-]*\Z")
_WORDS = lazy_pattern(r"\w[\w-]*(?: +[\w()/-]+)+\Z")  # several, which are no expression
_PATH = lazy_pattern(r"[\w-]+(?:\.[\w-]+)*\Z")
_PIECES = lazy_pattern(r"""'(?:\\.|[^'])*'|"(?:\\.|[^"])*"|`(?:\\.|[^`])*`|.""", re.DOTALL)


class Column(NamedTuple):
    name: str
    value: Callable[[Item], Any]
    format: Format = plain_cell
    exact: Format = plain_cell  # the same for csv
    max: int | None = None
    wrap: bool = False  # goes on in the next line where a terminal is too narrow
    names: str | None = None  # the naming that makes names of its ids
    whole: bool = False  # what identifies the item: on a terminal cut last, for it is copied from there
    palette: str | None = None  # the palette that colors it on a terminal
    shade: Callable[[Item], Any] | None = None  # what the palette is asked for; absent: the value
    style: str = ""  # where no palette gives one
    is_address: bool = False

    def cell_of(self, item: Item, context: FormatContext) -> Cell:
        """The value in one line, with its style on a terminal."""
        text = one_line(self.format(self.value(item), context))
        if self.palette is None or context.palette is None or not text:
            return Cell(text, self.style)
        word = self.shade(item) if self.shade else text
        return Cell(text, context.palette(self.palette).get(str(word).casefold(), self.style))


def split_columns(text: str) -> list[str]:
    """The names and expressions between the commas that stand outside quotes and brackets."""
    names, depth = [""], 0
    for piece in _PIECES.findall(text):
        depth += (piece in "([{") - (piece in ")]}")
        if piece == "," and depth <= 0:
            names.append("")
        else:
            names[-1] += piece
    return [name.strip() for name in names if name.strip()]


class Columns:
    """The choice of columns; raises `UsageError` for a word that is near a column's name but is none.

    A word that is not near any may still be a key of the items, so it is judged when they are there (`resolve`). What a
    change answers cannot be waited for: with `settled` a view's columns are all there are, and a key that is
    missing in the end is an empty column.
    """

    def __init__(
        self, view: ViewDefinition | None, asked: Sequence[str] | None, context: FormatContext, *, settled: bool = False
    ) -> None:
        self._setting = context
        self._settled = settled
        self._known: dict[str, Column] = {}
        self._standard: list[Column] = []
        identifying = view.get("id") if view else None
        for definition in view["columns"] if view else ():
            column = from_definition(definition)._replace(whole=definition["value"] == identifying)
            self._known.setdefault(column.name.casefold(), column)
            if not definition.get("wide"):
                self._standard.append(column)
        adding = [name for name in asked or () if name.startswith("+")]
        self._asked = [name.removeprefix("+") for name in asked or ()]
        self._keeps_standard = not self._asked or bool(adding)
        for name in self._asked:
            self._check_name(name)

    @property
    def are_given(self) -> bool:
        """Whether a view or the person says what the columns are."""
        return bool(self._standard or self._asked)

    @property
    def all_columns(self) -> list[Column]:
        """Those of the view, the ones only shown when asked for included."""
        return list(self._known.values())

    @property
    def need_sample(self) -> bool:
        """Whether the items must be seen before the columns are known."""
        unknown = (name for name in self._asked if keys_of_path(name) and name.casefold() not in self._known)
        return (self._keeps_standard and not self._standard) or any(unknown)

    def resolve_columns(self, sample: Sequence[Item], limit: int) -> list[Column]:
        """The columns in order; at most `limit` of those that only the items suggest."""
        suggested = _suggested_columns(sample, self._setting) if self.need_sample else {}
        found: list[Column] = []
        if self._keeps_standard:
            found += self._standard or list(suggested.values())[:limit]
        found += [self._find_column(name, suggested, sample) for name in self._asked]
        return list({column.name: column for column in found}.values())

    def _find_column(self, name: str, suggested: Mapping[str, Column], sample: Sequence[Item]) -> Column:
        folded = name.casefold()
        if folded in self._known:
            return self._known[folded]
        if folded in suggested and not any(isinstance(item, dict) and name in item for item in sample):
            return suggested[folded]
        if _WORD.match(name):
            self._require_key(name, suggested, sample)
            return Column(name.upper(), lambda item: item.get(name) if isinstance(item, dict) else None)
        if (
            (keys := keys_of_path(name))
            and not self._settled
            and sample
            and not any(leads_somewhere(keys, item) for item in sample)
        ):
            known = self._known_names() or ", ".join(column.name for column in suggested.values())
            raise UsageError(f"no column {name!r}", hint=f"columns: {known}")
        return Column(name.upper() if _PATH.match(name) else name, _lenient_evaluation(name))

    def _check_name(self, name: str) -> None:
        if name.casefold() in self._known:
            return
        if not _WORD.match(name) and not _WORDS.match(name):
            try:
                compile_expression(name)
            except TemplateError as error:
                raise UsageError(f"--columns: {name!r} is neither a column nor an expression: {error}") from None
            return
        near = closest_names(name, [column.name for column in self._known.values()])
        if near or (self._settled and self._known) or not _WORD.match(name):
            guess = f", did you mean {near[0]!r}?" if near else ""
            hint = f"columns: {self._known_names()}; @.{_folded_name(name)} stands for a key of the items"
            raise UsageError(f"no column {name!r}{guess}", hint=hint)

    def _require_key(self, name: str, suggested: Mapping[str, Column], sample: Sequence[Item]) -> None:
        keys = {key: None for item in sample if isinstance(item, dict) for key in item}
        if sample and name not in keys and not self._settled:
            known = self._known_names() or ", ".join(column.name for column in suggested.values())
            near = did_you_mean(name, [*(column.name for column in self._known.values()), *keys])
            raise UsageError(f"no column {name!r}{near}", hint=f"columns: {known}")

    def _known_names(self) -> str:
        return ", ".join(column.name for column in self._known.values())


def keys_of_path(text: str) -> list[str]:
    """The keys of an expression that is nothing but these with dots between; else none.

    A `$` before it, for the whole of what is looked at, changes nothing.
    """
    path = text.removeprefix("$")
    return path.split(".") if _PATH.match(path) else []


def leads_somewhere(keys: Sequence[str], value: Any) -> bool:
    """Whether a value has all keys of a path, or null on the way: then it is only not known what is below."""
    for key in keys:
        if value is None:
            return True
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _folded_name(name: str) -> str:
    return name if _WORD.match(name) else f'"{name}"'


def id_columns(view: ViewDefinition) -> list[ColumnDefinition]:
    """The columns that show the id of an item."""
    return [column for column in view["columns"] if column["value"] == view.get("id") and "address" not in column]


def from_definition(definition: ColumnDefinition) -> Column:
    name = definition.get("format")
    format = column_format(name) if "address" not in definition else _address_format(definition["address"])
    shade = definition.get("shade")
    return Column(
        definition["name"],
        _lenient_evaluation(definition["value"]),
        format,
        plain_cell if name in FOR_READERS else format,
        definition.get("max"),
        definition.get("wrap", False),
        definition.get("names"),
        palette=definition.get("palette"),
        shade=_lenient_evaluation(shade) if shade is not None else None,
        style=definition.get("style", ""),
        is_address="address" in definition,
    )


def _address_format(id: str) -> Format:
    """The web address of the thing that the value names."""

    def address(value: Any, context: FormatContext) -> str:
        word = plain_cell(value, context)
        return context.address(id, word) if word and context.address is not None else word

    return address


def _lenient_evaluation(expression: str) -> Callable[[Item], Any]:
    """The expression's value, null where it does not suit the item."""
    apply = compile_expression(expression)

    def value(item: Item) -> Any:
        try:
            return apply(item)
        except TemplateError:
            return None

    return value


def _suggested_columns(sample: Iterable[Item], context: FormatContext) -> dict[str, Column]:
    """The columns that a sample of items suggests, by folded name."""
    columns: dict[str, Column] = {}
    for path in leaf_paths(sample, context):
        name = ".".join(map(str, path)).upper() or "VALUE"
        columns.setdefault(name.casefold(), Column(name, path_getter(path)))
    return columns


# Names that people know in the place of ids, for the columns of a table that say so.


def with_names(columns: Sequence[Column], items: Sequence[Any], context: FormatContext) -> list[Column]:
    """The columns with the names of the ids that they hold in these items; an id without a name stays as it is."""
    if context.names is None:
        return list(columns)
    wanted: dict[str, list[str]] = {}
    for column in columns:
        if column.names:
            wanted.setdefault(column.names, []).extend(_ids_in_column(column, items))
    known = {naming: context.names(naming, ids) for naming, ids in wanted.items() if ids}
    return [_column_with_names(column, known[column.names]) if column.names in known else column for column in columns]


def _ids_in_column(column: Column, items: Iterable[Any]) -> list[str]:
    values = (column.value(item) for item in items)
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


def _column_with_names(column: Column, names: Mapping[str, str]) -> Column:
    def value(item: Any) -> Any:
        found = column.value(item)
        return names.get(found, found) if isinstance(found, str) else found

    return column._replace(value=value)
