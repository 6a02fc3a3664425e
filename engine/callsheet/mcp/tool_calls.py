"""Calls of tools: a name and arguments in, an answer that fits its schema and its budget out."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..calls import CallContext, name_of_field
from ..cli.main import call_command
from ..commands.context import Journaling
from ..errors import CallsheetError, UsageError, did_you_mean, name_program
from ..language.safety import CHANGES
from ..output.clean_text import describe_error
from ..output.columns import id_columns
from ..policy.policy import PolicySource, class_rules, read_only
from ..registry import READ_MORE
from .answers import SIZE, Collected, Rests, cut_text, cut_to_budget, json_size, rendered_value
from .tools import Tool, ToolArguments, checked_arguments, with_arguments
from .untrusted_text import clean_text, clean_value, mark_as_untrusted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..client.request.gate import ApprovalRequest
    from ..client.request.http_request import Request
    from ..commands.context import Context, ParameterValues
    from ..language.shape.commands import ViewDefinition
    from ..output.columns import FormatContext

# One call of a tool: what may stop it, who agrees to it, and what it prints as the answer.


class ConsentNeeded(Exception):
    """A person has to agree before the call goes on; nothing was changed so far. It is no failure of the command."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


class Watch:
    """What happens to a call meanwhile: how far it is, and whether it was given up. Used from several threads."""

    def __init__(self) -> None:
        self.steps = 0  # requests and items so far
        self.doing = ""
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Nothing more is sent for this call."""
        self._given_up.set()

    def on_request(self, request: Request) -> None:
        self._note_step(request.name)

    def on_items(self, count: int) -> None:
        self._note_step(f"{count} items")

    def on_note(self, text: str) -> None:
        self.steps, self.doing = self.steps + 1, text

    def _note_step(self, what: str) -> None:
        if self._given_up.is_set():
            raise CallsheetError("stopped: the call was given up")
        self.steps, self.doing = self.steps + 1, what


class AgentJournaling(Journaling):
    """Of every change: nobody sees what an agent does while it does it. `tool` takes one back, where it is offered."""

    def __init__(self, context: Context, tool: str | None) -> None:
        super().__init__(context)
        self._tool = tool

    @property
    def journal_setting(self) -> str:
        return "never" if super().journal_setting == "never" else "always"

    def journal_note(self, path: str, *, has_undo: bool) -> str:
        return super().journal_note(os.path.basename(path), has_undo=has_undo)

    def _to_undo(self, path: str) -> str:
        if self._tool is None:
            return f"a person can take the change back with `{self._context.program} undo {path}`"
        return f"{self._tool} with this name takes back what was changed"


class ToolContext(CallContext):
    """A call of an agent: `agreed` is what a person consented to, and `undo` the tool that takes a change back."""

    def __init__(
        self,
        base: Context,
        watch: Watch,
        agreed: frozenset[str] = frozenset(),
        restrictions: Sequence[PolicySource] = (),
        undo: str | None = None,
    ) -> None:
        super().__init__(base, restrictions=restrictions, ask_person=self._ask_through_client)
        self._watch = watch
        self._agreed_to = agreed
        self._changes = 0  # requests so far that may have changed something
        self._printed: Collected | None = None
        self.journaling = AgentJournaling(self, undo)

    @property
    def printed_output(self) -> Collected | None:
        """What went to the output; None where nothing did."""
        return self._printed

    @property
    def output_format(self) -> str:
        """As for a reader: commands then ask for all that belongs to a thing."""
        return "table"

    def formats(self) -> FormatContext:
        """With the names and the addresses that a reader sees in place of ids."""
        return super().formats()._replace(names=self._names, address=self.web_address)

    def output_with(self, view: ViewDefinition | None, columns: str | None, *, settled: bool = False) -> Any:
        from ..output.columns import split_columns

        asked = split_columns(columns) if columns else None
        self._printed = Collected(view, asked, self.formats(), settled=settled, tick=self._watch.on_items)
        return self._printed

    def note(self, text: str) -> None:
        """A wait for a slow site is a note too: a client sees it while it lasts."""
        super().note(text)
        self._watch.on_note(text)

    def before_request(self, request: Request) -> None:
        self._watch.on_request(request)
        self._changes += request.safety in CHANGES

    def _ask_through_client(self, question: ApprovalRequest) -> bool | None:
        """Who agreed to this very call, and saw its arguments, agreed to all that it sends.

        The call starts over when a person has answered, so nobody can be asked when something was sent already.
        """
        if self._agreed_to:
            return True
        if self._changes - (question.request.safety in CHANGES) > 0:
            return None
        raise ConsentNeeded(question.text)

    def will_confirm(self, question: str) -> bool:
        return not (self.option("yes") or self.option("dry-run"))

    def confirm(self, question: str) -> None:
        if not self.will_confirm(question) or question in self._agreed_to:
            return
        if self._changes:
            raise CallsheetError(
                f"{question} Not confirmed: part of the command has already run, so no question can be asked now"
            )
        raise ConsentNeeded(question)


# The tools of one server: a name and arguments in, an answer that fits its schema and its budget out.

_NEVER = (
    "show-token",
    "verbose",
    "columns",
    "jq",
    "query",
    "output",
    "template",
    "web",
)  # of the whole program: not for agents
_FRAME = 600  # bytes of an answer that are not what the site said


# Takes what a command of this context would save to a file of that name.
Keep = Callable[[ToolContext, "Request", str], dict[str, Any]]


_READS = read_only("resources", "reads only")


class ToolAnswer(NamedTuple):
    """What a model reads. There is no other form: some programs hand it on in the place of the text, some beside it."""

    text: str
    is_error: bool = False
    untrusted: bool = True  # whether it holds what others wrote


def policy_of_tool(tool: Tool) -> list[PolicySource]:
    """A tool sends nothing that is worse than its class, whatever its command comes to do."""
    if tool.safety == "destroy" or (tool.any_operation and tool.safety in CHANGES):
        return []
    if tool.safety in CHANGES:
        return [PolicySource(tool.name, class_rules({"destroy": "deny"}))]
    return [read_only(tool.name, "reads only")]


class Toolbox:
    """Calls of several threads may run at once. `budget` is how many bytes an answer may have."""

    def __init__(self, base: Context, tools: list[Tool], *, budget: int = SIZE) -> None:
        self.base = base
        self.tools = {tool.name: tool for tool in tools}
        self.rests = Rests(budget)
        self._budget = budget
        self._undo = next((tool.name for tool in tools if tool.command == "undo"), None)
        for name in _NEVER:
            base.options.pop(name, None)

    def mark_as_data(self, text: str) -> str:
        """Text of the site, marked as such."""
        try:
            site = self.base.site().name
        except CallsheetError:  # what an error says may come from the way to the site
            site = "others"
        return mark_as_untrusted(text, site)

    def find_tool(self, name: str) -> Tool:
        """Raises `UsageError` for a tool that is not offered, whether or not there is such a command."""
        found = self.tools.get(name)
        if found is None:
            raise UsageError(f"unknown tool {name!r}{did_you_mean(name, self.tools)}")
        return found

    def call_tool(
        self, name: str, given: dict[str, Any], watch: Watch | None = None, agreed: frozenset[str] = frozenset()
    ) -> ToolAnswer:
        """Raises `ConsentNeeded` where a person has to agree first; every other failure is an answer."""
        tool, watch = self.find_tool(name), watch or Watch()
        try:
            if name == READ_MORE:
                return self._answer_with_rest(checked_arguments(tool, given).values["handle"])
            return self._run_command(tool, checked_arguments(tool, given), watch, agreed)
        except CallsheetError as error:
            return self._answer_with_failure(tool, error, watch)

    def _run_command(self, tool: Tool, arguments: ToolArguments, watch: Watch, agreed: frozenset[str]) -> ToolAnswer:
        context = ToolContext(self.base, watch, agreed, policy_of_tool(tool), self._undo)
        if arguments.fields:
            context.options["columns"] = ",".join(self._chosen_columns(tool, arguments.fields))
        if arguments.dry_run:
            context.options["dry-run"] = True
        try:
            call_command(context, tool.command.split(), {**tool.values, **arguments.values})
            context.notes = [self._in_words_of_tools(tool, note) for note in context.notes]
            return self._answer_of_call(tool, context)
        finally:
            context.close()

    def text_of_command(self, command: str, values: ParameterValues, watch: Watch, keep: Keep | None = None) -> str:
        """All that a command answers, as text. `keep` takes what it would save. Raises `CallsheetError`."""
        context = ToolContext(self.base, watch, restrictions=[_READS])
        context.keep_file = (lambda request, path: keep(context, request, path)) if keep else None
        try:
            call_command(context, command.split(), values)
            printed = context.printed_output
            found = None if printed is None else printed.thing if printed.records is None else printed.records
            return (
                rendered_value(clean_value(found)) if found is not None else clean_text(context.written_output.decode())
            )
        finally:
            context.close()

    def items_of_command(self, command: str, values: ParameterValues) -> list[Any]:
        """The items that a command lists, as the service sent them. Raises `CallsheetError`."""
        context = ToolContext(self.base, Watch(), restrictions=[_READS])
        try:
            call_command(context, command.split(), values)
            return context.printed_output.raw if context.printed_output is not None else []
        finally:
            context.close()

    def _chosen_columns(self, tool: Tool, fields: list[str]) -> list[str]:
        """The columns that are meant, with the one that identifies the item."""
        view = self.base.catalog.views.get(tool.view) if tool.view else None
        if view is None:
            return fields
        names = {name_of_field(column["name"]): column["name"] for column in view["columns"]}
        own = [column["name"] for column in id_columns(view)]
        return list(dict.fromkeys([*own, *(names.get(name_of_field(field), field) for field in fields)]))

    def _answer_of_call(self, tool: Tool, context: ToolContext) -> ToolAnswer:
        printed, written = context.printed_output, context.written_output.decode(errors="replace")
        said: dict[str, Any] = {}
        if printed is not None and printed.records is not None:
            said["items"] = [item if isinstance(item, dict) else {"value": item} for item in printed.records]
        elif printed is not None and printed.thing is not None:
            said = dict(printed.thing) if isinstance(printed.thing, dict) else {"value": printed.thing}
        elif tool.lists:
            said["items"] = []
        if written and context.option("dry-run"):
            said["dry_run"] = written.splitlines()
        elif written:
            said["text"] = written
        return self._fit_to_budget(clean_value(said), context, of_site=not tool.is_trusted)

    def _fit_to_budget(self, said: dict[str, Any], context: ToolContext, *, of_site: bool) -> ToolAnswer:
        """Within the budget, with the notes and the way to what is left. What is not `of_site` is from definitions."""
        notes = [clean_text(note) for note in context.notes]
        room = max(_FRAME, self._budget - _FRAME - json_size(notes))
        part = cut_to_budget(said.get("items", said), room)
        text, left = cut_text(rendered_value(part.now), room)
        more = self.rests.put_rest("\n\n".join(each for each in (left, part.rest) if each))
        lines = [text or "done", *(f"note: {note}" for note in notes)]
        after = [] if more is None else [_words_about_rest(more)]
        if context.next is not None:
            of = f" of {context.total}" if context.total is not None else ""
            lines.append(f"page_token: {clean_text(context.next)}")
            after.append(f"There are more items{of}: the page_token above has the next ones.")
        answer = "\n".join(lines)
        return ToolAnswer("\n".join([self.mark_as_data(answer) if of_site else answer, *after]), untrusted=of_site)

    def _answer_with_rest(self, handle: str) -> ToolAnswer:
        text, more = self.rests.take_part(handle)
        return ToolAnswer("\n".join([self.mark_as_data(text), *([] if more is None else [_words_about_rest(more)])]))

    def _in_tools(self, hint: str) -> str:
        """With the names of tools for the command lines that they stand for."""
        commands = {f"{self.base.program} {tool.command}": tool.name for tool in self.tools.values() if tool.command}
        for command in sorted(commands, key=len, reverse=True):
            hint = re.sub(rf"{re.escape(command)}(?![\w-])", commands[command], hint)
        return hint

    def _in_words_of_tools(self, tool: Tool, text: str) -> str:
        return with_arguments(text, {str(param["name"]): name for name, param in tool.params.items()})

    def _answer_with_failure(self, tool: Tool, error: CallsheetError, watch: Watch) -> ToolAnswer:
        """In the words of the command line, but for options, which are arguments here."""
        error.hint = error.hint and self._in_tools(name_program(error.hint, self.base.program))
        if isinstance(error, UsageError) and error.hint and error.hint.startswith(f"{self.base.program} "):
            error.hint = None  # a command that no tool stands for
        text = self._in_words_of_tools(tool, describe_error(error))
        return ToolAnswer(self.describe_failure(text, error, watch), is_error=True)

    def describe_failure(self, text: str, error: CallsheetError, watch: Watch) -> str:
        """What is said of an error. It may quote the site, unless nothing was asked and the arguments were wrong."""
        text = cut_text(clean_text(text), self._budget - _FRAME)[0]
        return text if isinstance(error, UsageError) and not watch.steps else self.mark_as_data(text)


def _words_about_rest(handle: str) -> str:
    return f"The answer was cut: {READ_MORE} with handle {handle} has the rest."
