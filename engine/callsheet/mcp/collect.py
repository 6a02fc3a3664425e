"""What a command would print, kept as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..calls.fields import detailed_fields, field_of, flat_record, name_of_field
from ..output.columns import Columns, FormatContext, with_names

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.commands import ViewDefinition

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

    def items(self, items: Iterable[Any]) -> None:
        raw = []
        for count, item in enumerate(items, 1):
            raw.append(item)
            self._tick(count)
        self.raw = raw
        self.records = [*(self.records or []), *self._flat(raw)]

    def one(self, value: Any) -> None:
        if isinstance(value, list):
            self.items(value)
        elif isinstance(value, dict):
            self.raw = [value]
            found = self._whole(value, self._view) if self._view and not self._asked else self._asked_of(value)
            self.thing = {**(self.thing or {}), **found} if isinstance(self.thing, dict) else found
        else:
            self.thing = value

    value = one

    def _whole(self, value: Any, view: ViewDefinition) -> JsonObject:
        """A change answers with the address of the thing, too."""
        shown = [column for column in self._columns.all_columns if self._settled or not column.is_address]
        fields = [field_of(column) for column in with_names(shown, [value], self._context)]
        return {**flat_record(value, fields, self._context), **detailed_fields(value, view, self._context)}

    def _asked_of(self, value: Any) -> JsonObject:
        """With all that was asked for: what is empty is an answer too."""
        names = (
            [name_of_field(column.name) for column in self._columns.resolve([value], _WIDEST)] if self._asked else []
        )
        return {**dict.fromkeys(names), **self._flat([value])[0]}

    def _flat(self, items: list[Any]) -> list[Any]:
        if self._view is None and not self._asked:
            return [self._readable(item) for item in items]
        shown = self._columns.resolve(items, _WIDEST)
        fields = [field_of(column) for column in with_names(shown, items, self._context)]
        return [flat_record(item, fields, self._context) for item in items]

    def _readable(self, value: Any) -> Any:
        """Raw JSON with its documents as Markdown."""
        if isinstance(value, dict):
            if self._context.rich is not None and _is_document(value):
                return self._context.rich(value, "adf")
            return {key: self._readable(item) for key, item in value.items()}
        return [self._readable(item) for item in value] if isinstance(value, list) else value


def _is_document(value: JsonObject) -> bool:
    return value.get("type") == "doc" and isinstance(value.get("content"), list) and "version" in value
