"""One command that is run for the screen, and what a screen offers to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..cli.main import call_command
from ..commands.context import Journaling, Typed
from ..commands.prompts import Prompts
from ..errors import CallsheetError, UsageError
from ..language.parameters import first_argument, is_required
from ..language.safety import CHANGES
from ..library.session import ScriptCall
from ..output.columns import Columns, split_columns, with_names
from ..registry import SERVING, TALKING
from .row_list import ShownRow, Table, row_of

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..commands.context import Context
    from ..language.shape.commands import ChangeByCommand, CompiledCommand, ViewDefinition
    from ..output.columns import FormatContext


# One command that is run for the screen: its answer as data, its questions as dialogs.


_AS_TEXT = ("output", "jq", "query", "template")  # options by which a person says how the result is printed
_COLUMNS = 8  # of rows that no view describes


class Person(Protocol):
    """Who is at the screen. Each is called by a thread of a command, and waits for the answer.

    All raise `KeyboardInterrupt` where the person turns away.
    """

    def ask_text(self, question: str, default: str, *, hidden: bool = False) -> str: ...

    def ask_choice(self, question: str, labels: Sequence[str]) -> int: ...

    def ask_agreement(self, question: str) -> bool: ...

    def edit_text(self, text: str, name: str) -> str: ...


class CommandLine(NamedTuple):
    """A command to run: its words with values by name, or with `values` None a whole line as a person typed it."""

    words: tuple[str, ...]
    values: Mapping[str, Any] | None = None

    def at_page(self, page: str) -> CommandLine:
        """The same, from a page on."""
        if self.values is None:
            return CommandLine((*self.words, "--page-token", page))
        return CommandLine(self.words, {**self.values, "page-token": page})


class CommandAnswer(NamedTuple):
    """What a command gave: a `table`, one `thing`, or a `text`."""

    line: CommandLine
    command: str  # its words, without values
    definition: CompiledCommand | None
    table: Table | None = None
    thing: Any = None
    text: str = ""
    view: ViewDefinition | None = None
    notes: Sequence[str] = ()
    next: str | None = None
    total: int | None = None
    changed: bool = False
    formats: FormatContext | None = None

    @property
    def is_read(self) -> bool:
        return self.definition is not None and self.definition["safety"] not in CHANGES


class ScreenPrompts(Prompts):
    """The same questions, on the screen."""

    def __init__(self, call: ScreenCall, person: Person) -> None:
        super().__init__(call.streams, call.environ, call.option)
        self._person = person
        self._said: list[str] = []

    @property
    def can_ask(self) -> bool:
        return not (self._option("no-input") or self._option("dry-run"))

    def say(self, text: str) -> None:
        """It stands above the next question."""
        self._said.append(text)

    def ask_text(self, question: str, default: str = "") -> str:
        return Typed(self._person.ask_text(self._with_said(question), default).strip() or default)

    def ask_choice(self, question: str, labels: Sequence[str]) -> int:
        return self._person.ask_choice(self._with_said(question), labels)

    def ask_agreement(self, question: str, *, default: bool = True) -> bool:
        return self._person.ask_agreement(self._with_said(question))

    def edit_text(self, text: str, name: str) -> str:
        return self._person.edit_text(text, name)

    def unshown_messages(self) -> list[str]:
        """What was said and stood above no question."""
        said, self._said = self._said, []
        return said

    def _with_said(self, question: str) -> str:
        return "\n".join([*self.unshown_messages(), question])


class _ScreenJournaling(Journaling):
    """Of every change that can be undone, unless the person set it otherwise: a key takes the last one back."""

    def __init__(self, call: ScreenCall) -> None:
        super().__init__(call)
        self.usual = "always"

    def journal_note(self, path: str, *, has_undo: bool) -> str:
        return "u takes back what was changed" if has_undo else "this cannot be undone"


class ScreenCall(ScriptCall):
    """A person is there to be asked; what is noted is kept for them."""

    def __init__(self, base: Context, person: Person, *, literal: bool) -> None:
        super().__init__(base, lazily=False)
        self.literal = literal
        self._person = person
        self.journaling = _ScreenJournaling(self)
        for name in _AS_TEXT:
            self.options.pop(name, None)

    @cached_property
    def prompts(self) -> ScreenPrompts:
        return ScreenPrompts(self, self._person)

    def output_with(self, view: ViewDefinition | None, columns: str | None, *, settled: bool = False) -> Any:
        """As data, unless the person said how it is to be printed."""
        if any(self.option(name) for name in _AS_TEXT):
            return super(ScriptCall, self).output_with(view, columns, settled=settled)
        self.columns = columns
        return super().output_with(view, columns, settled=settled)

    columns: str | None = None

    def formats(self) -> FormatContext:
        return super().formats()._replace(palette=self._palette_styles)

    def may_ask(self) -> bool:
        return True

    def will_confirm(self, question: str) -> bool:
        if self.option("no-input"):
            raise UsageError(f"{question} refused: --no-input")
        return not (self.option("yes") or self.option("dry-run"))

    def confirm(self, question: str) -> None:
        if not self.will_confirm(question):
            return
        if not self._person.ask_agreement(question):
            raise UsageError("not confirmed, nothing was sent")
        self._has_agreed = True

    def ask_person(self, question: str) -> bool | None:
        if self.option("no-input"):
            return None
        return self._has_agreed or self._person.ask_agreement(question)

    def ask(self, question: str, *, default: str | None = None, hidden: bool = False) -> str:
        answer = self._person.ask_text(question, default or "", hidden=hidden)
        return answer if answer or default is None else default

    def note(self, text: str) -> None:
        self.notes.append(text)

    def say(self, text: str) -> None:
        self.notes.append(text)


def run_line(
    base: Context, person: Person, line: CommandLine, started: Callable[[ScreenCall], None] | None = None
) -> CommandAnswer:
    """Run it in this thread, with all that is asked, and give what it answered.

    Raises the `CallsheetError` that a person is told, and `KeyboardInterrupt` where they turned away from a question.
    """
    call = ScreenCall(base, person, literal=line.values is not None)
    if started is not None:
        started(call)
    words = command_of(base, line)
    definition = base.catalog.commands.find(words) if words else None
    try:
        call_command(call, line.words, line.values)
        return _answer_of_call(call, line, words, definition)
    finally:
        call.close()


def command_of(base: Context, line: CommandLine) -> str:
    """The words of the command in a line; empty where it starts with none."""
    found = (" ".join(line.words[:count]) for count in range(len(line.words), 0, -1))
    return next((base.catalog.canonical_id("command", each) for each in found if base.catalog.commands.find(each)), "")


def _answer_of_call(
    call: ScreenCall, line: CommandLine, words: str, definition: CompiledCommand | None
) -> CommandAnswer:
    notes = [*call.notes, *call.prompts.unshown_messages()]
    found = CommandAnswer(
        line, words, definition, view=call.view, notes=notes, changed=call.changed, formats=call.formats()
    )
    if call.option("dry-run"):
        return found._replace(text="\n".join(request.curl for request in call.requests))
    if call.items is not None:
        table = table_of(list(call.items), call.view, call.columns, call.formats())
        return found._replace(table=table, next=call.next, total=call.total)
    if call.things:
        return found._replace(thing=call.things[0] if len(call.things) == 1 else call.things)
    return found._replace(text=call.written_output.decode("utf-8", "backslashreplace"))


def table_of(items: Sequence[Any], view: ViewDefinition | None, asked: str | None, context: FormatContext) -> Table:
    """The columns of the view, or those that the person asked for; naming ids may ask the site."""
    columns = Columns(view, split_columns(asked) if asked else None, context).resolve_columns(items, _COLUMNS)
    columns = with_names(columns, items, context)
    id = view.get("id") if view else context.id
    rows: list[ShownRow] = [row_of(item, columns, id, context) for item in items]
    return Table(
        tuple(column.name for column in columns),
        rows,
        [column.max for column in columns],
        [column.whole for column in columns],
    )


def error_text(error: CallsheetError) -> str:
    from ..output.clean_text import describe_error

    return describe_error(error)


# What a screen offers, out of the definitions: lists to open, and what can be done with a thing of a list.


_NOT_HERE = SERVING | TALKING | {"ui"}


class OfferedCommand(NamedTuple):
    """A command, and where one can be told of the parameter that takes the thing."""

    words: str
    definition: CompiledCommand
    param: str = ""

    @property
    def changes(self) -> bool:
        return self.definition["safety"] in CHANGES


def offered_commands(catalog: Catalog) -> list[OfferedCommand]:
    """All that can be run on a screen."""
    every = catalog.commands.all().items()
    return [
        OfferedCommand(words, each)
        for words, each in every
        if not each.get("hidden") and each.get("builtin") not in _NOT_HERE
    ]


def offered_lists(catalog: Catalog) -> list[OfferedCommand]:
    """Those that list something without being told what of, in pages or as one answer that a resource's view shows."""
    views = {each.get("view") for each in catalog.resources.all().values()}
    return [
        each
        for each in offered_commands(catalog)
        if (each.definition.get("pages") or _shows_all(each, views))
        and not any(is_required(param) for param in each.definition.get("params", ()))
    ]


def _shows_all(each: OfferedCommand, views: set[str | None]) -> bool:
    calls = "builtin" not in each.definition and not each.changes
    return calls and each.definition.get("view") in views - {None} and first_argument(each.definition) is None


def offered_actions(catalog: Catalog, view: str | None, words: str) -> list[OfferedCommand]:
    """The commands that take a thing which this view shows, those of the list's own group first.

    A view is that of a resource; a command takes a thing of it where its first argument is looked up as one.
    """
    resources = {id for id, each in catalog.resources.all().items() if view and each.get("view") == view}
    group = words.rpartition(" ")[0]
    found = [
        each._replace(param=param["name"])
        for each in offered_commands(catalog)
        if (param := first_argument(each.definition)) is not None and param.get("lookup") in resources
    ]
    return sorted(found, key=lambda each: not each.words.startswith(f"{group} "))


def line_to_change(
    catalog: Catalog, answer: CommandAnswer, change: ChangeByCommand, id: str, value: str
) -> CommandLine | None:
    """What gives a thing of a list another value; None where the command takes no such thing."""
    view = answer.definition.get("view") if answer.definition else None
    taker = next(
        (each for each in offered_actions(catalog, view, answer.command) if each.words == change["command"]), None
    )
    return taker and CommandLine(tuple(taker.words.split()), {taker.param: id, change["value"]: value})


def reader(offered: list[OfferedCommand]) -> OfferedCommand | None:
    """The one that shows a thing whole."""
    reading = [
        each
        for each in offered
        if not each.changes and not each.definition.get("pages") and "builtin" not in each.definition
    ]
    sole = [each for each in reading if sum(map(is_required, each.definition.get("params", ()))) <= 1]
    return next(iter(sole), None)
