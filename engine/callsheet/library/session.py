"""One site of one program as a script uses it, one call of it, and what that gives."""

from __future__ import annotations

import io
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..calls import CallContext, detailed_fields, field_of
from ..cli.main import call_command, errors_as_told
from ..commands.context import Context
from ..commands.streams import Streams
from ..errors import CallsheetError, UsageError, name_program
from ..language.parameters import to_identifier
from ..output.columns import Columns, FormatContext, plain_cell, with_names
from ..policy.policy_sources import from_variable
from ..sites.site import CatalogNames
from ..terminal import escape_line
from ..terminal import escape_text as escape_active
from .arguments import CallArguments

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..client.request.http_request import Request
    from ..language.shape.commands import CompiledCommand, ViewDefinition


# What a dry run gives.


class PlannedRequest(NamedTuple):
    """A request that a dry run would have sent. `curl` is a command that sends it, credentials redacted."""

    method: str
    url: str
    body: Any
    curl: str

    @classmethod
    def from_request(cls, request: Request, url: str, curl: str) -> Self:
        from ..client.request.http_request import Form, Json

        match request.body:
            case Json(value=value):
                body = value
            case Form(pairs=pairs):
                body = dict(pairs)
            case _:
                body = None
        return cls(request.method, url, body, curl)


# One call of a script: what it prints is kept as the service sent it, and what it notes goes to a logger.


_LOGGER = logging.getLogger("callsheet")
_LOGGER.addHandler(logging.NullHandler())  # without one, warnings would be printed


class ScriptContext(Context):
    """What the calls of one script share. Nothing is printed or asked."""

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        nothing = Streams(io.StringIO(), io.StringIO(), io.StringIO())
        super().__init__(program, environ, nothing, literal=True)

    def say(self, text: str) -> None:
        _LOGGER.warning("%s", escape_line(text))


class ScriptCall(CallContext):
    """With `lazily`, a list is asked for while one goes through it."""

    def __init__(self, base: Context, *, lazily: bool) -> None:
        super().__init__(base)
        self._own_output = self.streams.out
        self._lazily = lazily
        self.is_in_file = False  # it was written where `out` says
        self.view: ViewDefinition | None = None
        self.items: Iterator[Any] | None = None
        self.things: list[Any] = []
        self.requests: list[PlannedRequest] = []

    @property
    def output_format(self) -> str:
        """What the service sends and nothing else, unless a file is written whose name says more."""
        return str(self.option("output") or "json")

    def output_with(self, view: ViewDefinition | None, columns: str | None, *, settled: bool = False) -> Any:
        if self.streams.out is not self._own_output:
            self.is_in_file = True
            return super().output_with(view, columns, settled=settled)
        self.view = view
        return _Kept(self)

    def formats(self) -> FormatContext:
        return super().formats()._replace(names=self._names, address=self.web_address)

    def as_markdown(self, value: Any, format: str) -> str:
        """Rich text of a format as Markdown."""
        return self._readable(value, format)

    def keep_items(self, items: Iterable[Any]) -> None:
        found = items if self._lazily else list(items)
        self.items = chain(self.items or (), found)

    def hold(self, request: Request, curl: str) -> None:
        self.requests.append(PlannedRequest.from_request(request, self.client().shown(request.url), curl))

    def note(self, text: str) -> None:
        super().note(text)
        _LOGGER.info("%s", escape_line(text))

    def say(self, text: str) -> None:
        _LOGGER.warning("%s", escape_line(text))


class _Kept:
    """Stands where a command has its output."""

    is_line_by_line = False

    def __init__(self, call: ScriptCall) -> None:
        self._call = call

    def print_items(self, items: Iterable[Any]) -> None:
        self._call.keep_items(items)

    def print_one(self, value: Any) -> None:
        if isinstance(value, list):
            self.print_items(value)
        else:
            self._call.things.append(value)


# Results as HTML for a notebook. Every text is escaped: what others wrote is shown and never acts.


_SHOWN_COLUMNS = 8  # of rows that no view describes


def rows_table(
    rows: Sequence[Any], view: ViewDefinition | None, context: FormatContext, *, has_more: bool = False
) -> str:
    """The columns of the view, as a terminal has them."""
    if not rows:
        return "<p>no results</p>"
    columns = with_names(Columns(view, None, context).resolve_columns(rows, _SHOWN_COLUMNS), rows, context)
    head = _html_row("th", [column.name for column in columns])
    body = "".join(_html_row("td", [column.cell_of(row, context) for column in columns]) for row in rows)
    more = "<p>and more</p>" if has_more else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}"


def record_table(thing: dict[str, Any], view: ViewDefinition | None, context: FormatContext) -> str:
    """Every column that says something, a line each, then the parts that the view shows in full."""
    columns = with_names(Columns(view, None, context).all_columns, [thing], context)
    if columns:
        lines = [[column.name, column.cell_of(thing, context)] for column in columns]
    else:
        lines = [[name, plain_cell(value, context)] for name, value in thing.items()]
    parts = detailed_fields(thing, view, context) if view else {}
    lines += [[name.upper(), plain_cell(value, context)] for name, value in parts.items()]
    return f"<table><tbody>{''.join(_html_line(name, text) for name, text in lines if text)}</tbody></table>"


def _html_line(name: str, text: str) -> str:
    return f'<tr><th>{_html_text(name)}</th><td style="white-space: pre-wrap">{_html_text(text)}</td></tr>'


def _html_row(tag: str, texts: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_html_text(text)}</{tag}>' for text in texts)}</tr>"


def _html_text(text: str) -> str:
    return escape(escape_active(text))


# What a call gives: the rows of a list, or one record.


_SHOWN = 50  # rows in a notebook
_COLUMNS = 20  # of rows that no view describes


class Record(dict[str, Any]):
    """One thing as the service sent it: a dict that a notebook shows as a table."""

    def __init__(self, thing: dict[str, Any], call: ScriptCall | None = None) -> None:
        super().__init__(thing)
        self._call = call

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Any]]]:
        """What is copied, or sent to another process, is the thing alone."""
        return Record, (dict(self),)

    def _repr_html_(self) -> str:

        if self._call is None:
            return record_table(self, None, FormatContext())
        return record_table(self, self._call.view, self._call.formats())


class Rows(Iterator[dict[str, Any]]):
    """The things of a list as the service sent them, one after another; each page is asked for when it is needed.

    They are gone through once: `rows = list(...)` keeps them. Safe with several threads.
    """

    def __init__(self, name: str, call: ScriptCall, telling: Callable[[], AbstractContextManager[None]]) -> None:
        self._name = name
        self._call = call
        self._telling = telling
        self._items = call.items if call.items is not None else iter(())
        self._seen: list[Any] = []  # what a notebook has shown and nobody has taken yet
        self._ended = False
        self._lock = threading.Lock()

    def __iter__(self) -> Self:
        """Raises `UsageError` where all were taken already: an empty list would be a wrong answer."""
        if self._ended and not self._seen:
            raise UsageError("these rows were gone through already", hint="keep them with rows = list(...)")
        return self

    def __next__(self) -> dict[str, Any]:
        with self._lock:
            found: dict[str, Any] = self._seen.pop(0) if self._seen else self._take()
            return found

    def _take(self) -> Any:
        with self._telling():
            for item in self._items:
                return item
        self._ended = True
        self._call.close()
        raise StopIteration

    @property
    def next_page_token(self) -> str | None:
        """Where the next page starts, once the rows of one page were gone through and there are more."""
        return self._call.next

    @property
    def total(self) -> int | None:
        """How many there are in all, where the service told it with a page."""
        return self._call.total

    def flat(self, *columns: str) -> Iterator[dict[str, Any]]:
        """Each as a flat row: the columns of its view by name, or these columns; what is not there is None.

        A column is the name of one, a key, or a path such as `fields.status.name`.
        """
        chosen = Columns(self._call.view, columns, self._call.formats())
        return self._flat_rows(chosen)

    def _flat_rows(self, chosen: Columns) -> Iterator[dict[str, Any]]:
        formats, fields = self._call.formats(), None
        for row in self:
            if fields is None:
                fields = [field_of(column) for column in chosen.resolve_columns([row], _COLUMNS)]
            yield {field.name: field.read(row, formats) for field in fields}

    def __repr__(self) -> str:
        return f"<Rows of {self._name}>"

    def _repr_html_(self) -> str:
        """The next rows as a table; they are still there for whoever goes through them."""
        with self._lock:
            while len(self._seen) <= _SHOWN:
                try:
                    self._seen.append(self._take())
                except StopIteration:
                    break
            shown, more = self._seen[:_SHOWN], len(self._seen) > _SHOWN
        return rows_table(shown, self._call.view, self._call.formats(), has_more=more)


# One site of one program as a script uses it: calls that share what is expensive.


_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_FLAGS = frozenset({"yes", "dry-run", "all"})
NO_ARGUMENTS = CallArguments({})
_WHOLE_LIST = frozenset({"all", "max", "limit", "page-token", "count", "out", "resume"})


class Session:
    """`options` are those of the program. Safe with several threads."""

    def __init__(self, program: str, environ: Mapping[str, str], options: Mapping[str, Any]) -> None:
        self._closed = False
        self.base = ScriptContext(program, environ)
        self.base.options.update(options)
        with self.errors_for_scripts():
            _ = self.base.catalog
            if self.base.broken is not None:
                self.base.close()
                raise self.base.broken

    @property
    def catalog(self) -> Catalog:
        return self.base.catalog

    def add_restriction(self, policy: str) -> None:
        """Hold to a policy beside those of machine, site and environment."""
        with self.errors_for_scripts():
            source = from_variable(policy, "policy", CatalogNames(self.catalog, self.base.environ))
        self.base.restrictions = (*self.base.restrictions, source)

    def close(self) -> None:
        self._closed = True
        self.base.close()

    def find_builtin(self, name: str) -> tuple[str, CompiledCommand]:
        """The words and the definition of the command that runs a function of the engine."""
        found = self.catalog.commands.find(name)
        if found is not None and found.get("builtin") == name:
            return name, found
        for words, command in self.catalog.commands.all().items():
            if command.get("builtin") == name:
                return words, command
        raise UsageError(f"{self.base.program} has no command for this")

    def run_command(
        self,
        words: str,
        command: CompiledCommand,
        arguments: CallArguments,
        *,
        lazily: bool = False,
        as_bytes: bool = False,
        dry: bool = False,
    ) -> Any:
        """What a command gives: rows of a list, a record or another value, a text, or planned requests.

        With `lazily` a list is asked for while one goes through it, after the command has ended: it may only read, and
        hold nothing open. With `as_bytes` it writes a file, and gives what is in it. A `dry` one sends nothing.
        """
        call = self.new_call(arguments, lazily=lazily, dry=dry)
        values = dict(arguments.values)
        if command.get("pages") and "builtin" not in command and not _WHOLE_LIST & values.keys():
            values["all"] = True
        with self.closing_on_error(call):
            call_command(call, words.split(), values, files=True)
            if as_bytes and not call.option("dry-run"):
                call.close()
                return call.written_output
            return self.result_of_call(words, call, is_list=bool(command.get("pages")))

    def new_call(
        self, arguments: CallArguments = NO_ARGUMENTS, *, lazily: bool = False, dry: bool = False
    ) -> ScriptCall:
        """Raises `UsageError` where the program was closed."""
        if self._closed:
            raise UsageError(f"{self.base.program} was closed", hint="open it again")
        call = ScriptCall(self.base, lazily=lazily)
        call.streams.input = io.StringIO(arguments.input)
        given = {"yes": arguments.yes, "dry-run": dry}
        call.options.update({name: True for name, value in given.items() if value})
        return call

    def result_of_call(self, words: str, call: ScriptCall, *, is_list: bool = False) -> Any:
        if call.option("dry-run"):
            call.close()
            return call.requests
        if call.is_in_file:
            call.close()
            return None
        if call.items is not None or (is_list and not call.things and not call.written_output):
            return Rows(words, call, lambda: self.closing_on_error(call))
        call.close()
        if not call.things:
            return call.written_output.decode("utf-8", "backslashreplace") or None
        found = [Record(thing, call) if isinstance(thing, dict) else thing for thing in call.things]
        return found[0] if len(found) == 1 else found

    @contextmanager
    def closing_on_error(self, call: ScriptCall) -> Iterator[None]:
        try:
            with self.errors_for_scripts(), errors_as_told(call):
                yield
        except BaseException:
            call.close()
            raise

    @contextmanager
    def errors_for_scripts(self) -> Iterator[None]:
        """Errors in the words of a script: an option is an argument here."""
        try:
            yield
        except CallsheetError as error:
            error.hint = error.hint and in_python(name_program(error.hint, self.base.program))
            error.message = in_python(error.message)
            error.args = (error.message,)
            raise


def in_python(text: str) -> str:
    """A text about options as one about arguments."""

    def spelt(match: re.Match[str]) -> str:
        return f"{to_identifier(match[1])}=True" if match[1] in _FLAGS else to_identifier(match[1])

    return _OPTION.sub(spelt, text)
