"""What a model gets to read: flat records as text, the columns of a view, and a part of them at a time."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..calls import detailed_fields, field_of, flat_record, name_of_field
from ..errors import UsageError
from ..jsontext import dump_json
from ..output.columns import Columns, FormatContext, with_names

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.commands import ViewDefinition

# Flat records as text for a model: a Markdown table where each value is one line, otherwise a block for each.

_CELL = 160  # characters that a cell may have


def rendered_value(value: Any) -> str:
    """A list, one thing, or whatever else a command answered."""
    if isinstance(value, list):
        return rendered_items(value)
    return _lines_of_record(value) if isinstance(value, dict) else _text_of_value(value)


def rendered_items(items: list[Any]) -> str:
    if not items:
        return "nothing found"
    if not all(isinstance(item, dict) and _is_flat(item) for item in items):
        return "\n".join(dump_json(item) if isinstance(item, dict | list) else _text_of_value(item) for item in items)
    if all(_is_cell(value) for item in items for value in item.values()):
        return _markdown_table(items)
    return "\n\n".join(_lines_of_record(item) for item in items)


def _markdown_table(items: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for item in items for name in item))
    rows = [names, ["---"] * len(names), *([_table_cell(item.get(name)) for name in names] for item in items)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _lines_of_record(thing: dict[str, Any]) -> str:
    """Short values as lines first, then longer ones under their names."""
    if not _is_flat(thing, parts=True):
        return dump_json(thing)
    if list(thing) == ["text"]:
        return _text_of_value(thing["text"])
    short = [f"{name}: {_text_of_value(value)}" for name, value in thing.items() if _is_cell(value)]
    long = [f"## {name}\n\n{_text_of_part(value)}" for name, value in thing.items() if not _is_cell(value)]
    return "\n\n".join(["\n".join(short), *long] if short else long)


def _text_of_part(value: Any) -> str:
    return rendered_items(value) if isinstance(value, list) else _text_of_value(value)


def _is_flat(item: dict[str, Any], *, parts: bool = False) -> bool:
    return not any(isinstance(value, dict) or (not parts and _has_tables(value)) for value in item.values())


def _has_tables(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict | list) for item in value)


def _is_cell(value: Any) -> bool:
    if isinstance(value, str):
        return "\n" not in value and len(value) <= _CELL
    if isinstance(value, list):
        return not _has_tables(value) and len(_text_of_value(value)) <= _CELL
    return True


def _table_cell(value: Any) -> str:
    return _text_of_value(value).replace("\\", "\\\\").replace("|", "\\|")


def _text_of_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_text_of_value, _flattened_texts(value)))
    return value if isinstance(value, str) else dump_json(value)


def _flattened_texts(value: Iterable[Any]) -> list[Any]:
    return [item for item in value if item is not None]


# How much of an answer is said at once, and the handles by which the rest of it can be read.

SIZE = 16 << 10  # bytes of an answer, unless it is said otherwise
_LEAST = 200  # bytes that are left of a text that is cut
_KEPT = 64  # answers whose rest is kept
_KEPT_SIZE = 64 << 20  # bytes of them together


class Cut(NamedTuple):
    """What is said now, and the text of the rest."""

    now: Any
    rest: str


def json_size(value: Any) -> int:
    return len(value.encode()) if isinstance(value, str) else len(dump_json(value).encode())


def cut_to_budget(value: Any, budget: int) -> Cut:
    """As much of a value as fits in `budget` bytes of JSON: whole items of a list, the beginnings of long texts."""
    if json_size(value) <= budget:
        return Cut(value, "")
    if isinstance(value, str):
        now, rest = cut_text(value, budget)
        return Cut(now, rest)
    if isinstance(value, list):
        return _cut_list(value, budget)
    return _cut_thing(value, budget) if isinstance(value, dict) else Cut(value, "")


def cut_text(text: str, budget: int) -> tuple[str, str]:
    """The text up to a line end, or a blank, that lies within `budget` bytes; never inside a character."""
    head = text.encode()[:budget].decode("utf-8", "ignore")
    if len(head) == len(text):
        return text, ""
    for mark in ("\n", " "):
        place = head.rfind(mark)
        if place >= len(head) // 2:
            return text[:place], text[place + 1 :]
    return head, text[len(head) :]


def _cut_list(items: list[Any], budget: int) -> Cut:
    count, left = 0, budget
    for item in items:
        left -= json_size(item) + 2  # a comma and a blank, or the brackets
        if left < 0:
            break
        count += 1
    if count:
        return Cut(items[:count], rendered_value(items[count:]))
    first = cut_to_budget(items[0], budget)
    parts = [first.rest, rendered_value(items[1:]) if items[1:] else ""]
    return Cut([first.now], "\n\n".join(part for part in parts if part))


def _cut_thing(thing: dict[str, Any], budget: int) -> Cut:
    """The longest values give way, one after the other, each as far as is needed."""
    now, rests = dict(thing), {}
    for name in sorted(thing, key=lambda name: json_size(thing[name]), reverse=True):
        excess = json_size(now) - budget
        if excess <= 0:
            break
        part = cut_to_budget(now[name], max(_LEAST, json_size(now[name]) - excess - _LEAST))
        now[name] = part.now
        if part.rest:
            rests[name] = part.rest
    return Cut(now, "\n\n".join(f"## {name}, continued\n\n{rests[name]}" for name in thing if name in rests))


class Rests:
    """The rest of answers, by handle. The oldest are forgotten first; nobody can guess a handle."""

    def __init__(self, budget: int = SIZE) -> None:
        self.budget = budget
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def put_rest(self, text: str) -> str | None:
        """The handle of a text; None for an empty one."""
        if not text:
            return None
        handle = secrets.token_hex(6)
        with self._lock:
            self._texts[handle] = text
            self._size += len(text)
            while len(self._texts) > 1 and (len(self._texts) > _KEPT or self._size > _KEPT_SIZE):
                self._size -= len(self._texts.popitem(last=False)[1])
        return handle

    def take_part(self, handle: str) -> tuple[str, str | None]:
        """The next part of a rest, and the handle of what is left then. The part can be read again."""
        with self._lock:
            text = self._texts.get(handle)
        if text is None:
            raise UsageError(f"unknown or expired handle {handle!r}", hint="call the tool again that gave this handle")
        part, rest = cut_text(text, self.budget)
        return part, self.put_rest(rest)


# What a command would print, kept as data.

_WIDEST = 20  # fields of items that no view describes


class Collected:
    """Stands where a command has its output. `items` or `thing` is set by what the command printed.

    `asked` are the fields that are wanted instead of the view's. Raises `UsageError` for one that is near a known one
    but is none, before anything is sent. `most` bytes of items are kept; what comes then is not asked for.
    """

    def __init__(
        self,
        view: ViewDefinition | None,
        asked: Sequence[str] | None,
        context: FormatContext,
        *,
        settled: bool,
        tick: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._view = view
        self._asked = list(asked or ())
        self._context = context
        self._columns = Columns(view, self._asked, context, settled=settled)
        self._settled = settled
        self._tick = tick
        self.records: list[Any] | None = None
        self.thing: Any = None
        self.raw: list[Any] = []  # what was printed, as the service sent it

    @property
    def is_empty(self) -> bool:
        """Whether the command printed nothing."""
        return self.records is None and self.thing is None

    def print_items(self, items: Iterable[Any]) -> None:
        raw = []
        for count, item in enumerate(items, 1):
            raw.append(item)
            self._tick(count)
        self.raw = raw
        self.records = [*(self.records or []), *self._flat_records(raw)]

    def print_one(self, value: Any) -> None:
        if isinstance(value, list):
            self.print_items(value)
        elif isinstance(value, dict):
            self.raw = [value]
            found = self._whole_record(value, self._view) if self._view and not self._asked else self._asked_of(value)
            self.thing = {**(self.thing or {}), **found} if isinstance(self.thing, dict) else found
        else:
            self.thing = value

    def _whole_record(self, value: Any, view: ViewDefinition) -> JsonObject:
        """A change answers with the address of the thing, too."""
        shown = [column for column in self._columns.all_columns if self._settled or not column.is_address]
        fields = [field_of(column) for column in with_names(shown, [value], self._context)]
        return {**flat_record(value, fields, self._context), **detailed_fields(value, view, self._context)}

    def _asked_of(self, value: Any) -> JsonObject:
        """With all that was asked for: what is empty is an answer too."""
        names = (
            [name_of_field(column.name) for column in self._columns.resolve_columns([value], _WIDEST)]
            if self._asked
            else []
        )
        return {**dict.fromkeys(names), **self._flat_records([value])[0]}

    def _flat_records(self, items: list[Any]) -> list[Any]:
        if self._view is None and not self._asked:
            return [self._readable_value(item) for item in items]
        shown = self._columns.resolve_columns(items, _WIDEST)
        fields = [field_of(column) for column in with_names(shown, items, self._context)]
        return [flat_record(item, fields, self._context) for item in items]

    def _readable_value(self, value: Any) -> Any:
        """Raw JSON with its documents as Markdown."""
        if isinstance(value, dict):
            if self._context.rich is not None and _is_document(value):
                return self._context.rich(value, "adf")
            return {key: self._readable_value(item) for key, item in value.items()}
        return [self._readable_value(item) for item in value] if isinstance(value, list) else value


def _is_document(value: JsonObject) -> bool:
    return value.get("type") == "doc" and isinstance(value.get("content"), list) and "version" in value
