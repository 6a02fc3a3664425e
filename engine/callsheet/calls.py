"""Commands called by a program instead of a person: values by their names in, and what would be printed as data."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .commands.context import Context
from .commands.streams import Streams
from .language.template import TemplateError, evaluate
from .output.columns import (
    Column,
    Format,
    FormatContext,
    column_format,
    count_cell,
    document_cell,
    document_line,
    first_line,
    from_definition,
    joined_cell,
    plain_cell,
    storage_cell,
    storage_line,
    yes_or_no_cell,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .client.http.http_client import Client
    from .client.request.gate import Ask
    from .client.request.http_request import Request
    from .language.shape.commands import Detail, ViewDefinition
    from .policy.policy import PolicySource
    from .sites.site import Site

# Answers as flat records: the columns of a view by name, whole and exact, with rich text as Markdown.

# What a column shows of a longer text, and how all of it is read.
_WHOLE: dict[Format, Format] = {document_line: document_cell, storage_line: storage_cell, first_line: plain_cell}
_KINDS: dict[Format, str] = {joined_cell: "texts", yes_or_no_cell: "truth", count_cell: "number"}

_TRUTHS: dict[Any, bool] = {True: True, False: False, "true": True, "false": False}


class RecordField(NamedTuple):
    """One value of a record. `read` gives None where there is nothing to tell."""

    name: str
    read: Callable[[Any, FormatContext], Any]


def name_of_field(title: str) -> str:
    """The name of a column as a key: `ISSUE TYPE` → `issue_type`."""
    return re.sub(r"\W+", "_", title.strip()).strip("_").lower() or "value"


def field_of(column: Column) -> RecordField:
    kind = _KINDS.get(column.format, "text")
    as_text = _WHOLE.get(column.format, column.exact)

    def read(item: Any, context: FormatContext) -> Any:
        value = column.value(item)
        if value is None:
            return None
        if kind == "texts":
            parts = value if isinstance(value, list) else list(value) if isinstance(value, dict) else [value]
            return [plain_cell(part, context) for part in parts if part is not None] or None
        if kind == "truth":
            return _TRUTHS.get(value) if isinstance(value, bool | str) else None
        if kind == "number":
            return len(value) if isinstance(value, list | dict) else None
        return as_text(value, context) or None

    return RecordField(name_of_field(column.name), read)


def flat_record(item: Any, fields: list[RecordField], context: FormatContext) -> dict[str, Any]:
    """The fields of an item that say something."""
    values = ((field.name, field.read(item, context)) for field in fields)
    return {name: value for name, value in values if value is not None}


def detailed_fields(thing: Any, view: ViewDefinition, context: FormatContext) -> dict[str, Any]:
    """The parts of one thing in full, by name: a text, or a list of records."""
    found = ((name_of_field(part["title"]), _detail_value(part, thing, context)) for part in view.get("detail", ()))
    return {name: value for name, value in found if value}


def _is_text(part: Detail) -> bool:
    return "items" not in part and "line" not in part


def _detail_value(part: Detail, thing: Any, context: FormatContext) -> Any:
    items = _evaluated_or_none(part.get("items", "[@]"), thing)
    listed = items if isinstance(items, list) else [] if items is None else [items]
    fields = [field_of(from_definition(column)) for column in part.get("line", ())]
    format = column_format(part.get("format"))
    found = []
    for item in listed:
        values = flat_record(item, fields, context)
        text = _evaluated_or_none(part["text"], item) if "text" in part else None
        if text is not None and (said := format(text, context).strip()):
            values["text"] = said
        found.append(values)
    if _is_text(part):
        return "\n\n".join(values["text"] for values in found if "text" in values)
    return [values for values in found if values]


def _evaluated_or_none(expression: str, thing: Any) -> Any:
    try:
        return evaluate(expression, thing)
    except TemplateError:
        return None


# One command that a program calls: it runs in a context of its own, where nobody is at a terminal.

_OPENING = threading.Lock()  # several calls may be the first one


class CallContext(Context):
    """Values are literal, and what is written is kept.

    Site, catalog and connections are those of `base`, which outlives the call and may have many at a time.
    `restrictions` hold for this call alone.
    """

    def __init__(
        self, base: Context, *, restrictions: Sequence[PolicySource] = (), ask_person: Ask | None = None
    ) -> None:
        self._bytes = io.BytesIO()
        out = io.TextIOWrapper(self._bytes, "utf-8", "backslashreplace", newline="", write_through=True)
        super().__init__(
            base.program,
            base.environ,
            Streams(io.StringIO(), out, io.StringIO()),
            literal=True,
            restrictions=restrictions,
            ask_person=ask_person,
        )
        self.options = dict(base.options)
        self._base = base
        self._catalog = base.catalog
        self.notes: list[str] = []
        self.next: str | None = None
        self.total: int | None = None

    @property
    def written_output(self) -> bytes:
        """What was written to the output instead of printed as a result: a text, or the bytes of a file."""
        return self._bytes.getvalue()

    def site(self) -> Site:
        with _OPENING:
            return self._base.site()

    def client(self) -> Client:
        if self._client is None:
            from .client.http.http_client import Client

            with _OPENING:
                lender = self._base.client()
            self._client = Client(
                self.site(),
                self.catalog,
                environ=self.environ,
                note=self.note,
                ask=self._ask_person,
                before=self.before_request,
                restrictions=self.restrictions,
                shared=lender,
            )
        return self._client

    def before_request(self, request: Request) -> None:
        """Told of each request before it is sent; may raise."""

    def formats(self) -> FormatContext:
        """How values read, without what only a terminal has."""
        return FormatContext(self.definition.get("text"), self.definition.get("id"), None, self._readable)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def note_more(self, start: object, total: int | None, *, is_sure: bool = True) -> None:
        del is_sure
        self.next, self.total = str(start), total

    def is_foreign(self, word: str) -> bool:
        """What is called is called for the person; only files and standard input are nothing to it."""
        return False

    def close(self) -> None:
        """The catalog is that of `base`."""
        self.hang_up()
