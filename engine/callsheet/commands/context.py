"""Which changes are kept in a journal, and what is told of one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ..catalog.catalog import Catalog, open_catalog
from ..errors import ConfirmationNeeded, DefinitionError, UsageError, did_you_mean
from ..language.layers import Layer
from ..terminal import escape_line, wants_color
from .streams import Streams, input_lines, is_attended, read_all, read_file

_MANY = 20  # items
_SETTINGS = ("always", "many", "never")


class JournalOwner(Protocol):
    """The run whose changes these are."""

    program: str
    environ: Mapping[str, str]

    @property
    def definition(self) -> Any: ...

    def site(self) -> Any: ...


class Journaling:
    """As the person set it: of changes to more than 20 items, of all or of none."""

    def __init__(self, context: JournalOwner) -> None:
        self._context = context
        self.path: str | None = None  # of the journal that was kept of this run
        self.can_undo = False  # whether a journal of what this run changes can put it back
        self.usual = "many"  # what holds where the person set nothing

    @property
    def journal_setting(self) -> str:
        """`always`, `many` or `never`: as the program's variable in the environment says, else the site's settings."""
        name = f"{self._context.definition['prefix']}_JOURNAL"
        if not (said := self._context.environ.get(name, "").strip()):
            return str(self._context.site().default_of("journal") or self.usual)
        if said not in _SETTINGS:
            raise UsageError(f"{name}: expected always, many or never, not {said!r}{did_you_mean(said, _SETTINGS)}")
        return said

    def keeps_journal(self, items: int, *, has_undo: bool) -> bool:
        """Whether a journal is kept of a change to so many items, where none was asked for."""
        self.can_undo = self.can_undo or has_undo
        few = self.journal_setting == "always" and has_undo and items > 0
        return few or (self.journal_setting != "never" and items > _MANY)

    def journal_note(self, path: str, *, has_undo: bool) -> str:
        """What is told of a journal."""
        return f"journal: {path}; {self._to_undo(path) if has_undo else 'this cannot be undone'}"

    def _to_undo(self, path: str) -> str:
        return f"`{self._context.program} undo {shlex.quote(path)}` takes back what was changed"


# What a command works with: the catalog, the global options, and on demand the site, the client, the output.


if TYPE_CHECKING:
    from click import Parameter

    from ..client.http.http_client import Client
    from ..client.request.gate import Ask
    from ..client.request.http_request import Request
    from ..language.shape.commands import ProgramDefinition, ViewDefinition
    from ..language.shape.richtext import NodeDefinition
    from ..output import Output
    from ..policy.policy import PolicySource
    from ..sites.site import Site
    from .prompts import Prompts

    # What takes the answer to a request in the place of a file of that name, and returns what a result says of it.
    KeepFile = Callable[[Request, str], dict[str, Any]]


def _indent_lines(text: str) -> str:
    """Lines after the first are set in, so that no text from elsewhere looks like another message."""
    return text.replace("\n", "\n  ")


class Typed(str):
    """A word that a person wrote, in a run whose other words come from elsewhere."""

    __slots__ = ()


ParameterValues = dict[str, Any]  # what was given for the parameters of a command, by their names


class Context:
    """One run of a program. In a `literal` one only `Typed` words can name a file, standard input or an address."""

    def __init__(
        self,
        program: str,
        environ: Mapping[str, str] | None = None,
        streams: Streams | None = None,
        *,
        literal: bool = False,
        restrictions: Sequence[PolicySource] = (),
        ask_person: Ask | None = None,
    ) -> None:
        """`restrictions` hold beside the policy of machine, site and environment.

        `ask_person` is asked for what a policy wants a person to allow, in the place of whoever is at the terminal.
        """
        self.program = program
        self.literal = literal
        self.journaling = Journaling(self)
        self.restrictions = restrictions
        self._ask_person = ask_person or (lambda request: self.ask_person(request.text))
        self._has_agreed = False  # whether a person answered this run's own question with yes
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.streams = streams or Streams()
        self.options: dict[str, Any] = {}
        self._catalog: Catalog | None = None
        self.broken: DefinitionError | None = None  # why only the built-in definitions are in use
        self.keep_file: KeepFile | None = None  # takes what would be written to a file
        self.shared_params: list[Parameter] | None = None  # the options of the program, once they are made
        self.has_taken_over = False  # a command that can say so itself has taken over
        self._site: Site | None = None
        self._client: Client | None = None
        self._palettes: dict[str, dict[str, str]] = {}
        self._noted: set[str] = set()

    @property
    def catalog(self) -> Catalog:
        if self._catalog is None:
            try:
                self._catalog = open_catalog(self.program, self.environ, say_slow=self._say_slow)
            except DefinitionError as error:
                try:
                    self._catalog = open_catalog(self.program, self.environ, own=False)
                except DefinitionError:  # of programs that do not go together
                    raise error from None
                self.broken = error
        return self._catalog

    def _say_slow(self) -> None:
        self.say(f"note: preparing {self.program}: its definitions are new or changed, and there are many")

    @property
    def layers(self) -> list[Layer]:
        from ..language.load import definition_layers

        return definition_layers(self.program, self.environ)

    @cached_property
    def definition(self) -> ProgramDefinition:
        """The definition of the program itself, which a start asks for ten times."""
        return self.catalog.programs.get(self.program)

    def option(self, name: str, default: Any = None) -> Any:
        value = self.options.get(name)
        return default if value is None else value

    @property
    def output_format(self) -> str:
        """The option, else the program's variable in the environment, else what the site or the program says."""
        of_site = self._site.output if self._site is not None else None
        chosen = self.option("output") or self.environ.get(f"{self.definition['prefix']}_OUTPUT") or of_site
        return str(chosen or "table")

    def site(self) -> Site:
        if self._site is None:
            from ..sites.site import current_site

            self._site = current_site(
                self.program,
                self.options,
                self.environ,
                self.catalog,
                restrictions=self.restrictions,
                warn=lambda text: self.say(f"warning: {text}"),
            )
        return self._site

    def client(self) -> Client:
        if self._client is None:
            from ..client.http.http_client import Client

            log = self.say if self.option("verbose") else None
            self._client = Client(
                self.site(), self.catalog, environ=self.environ, log=log, note=self.note, ask=self._ask_person
            )
        return self._client

    @property
    def changed(self) -> bool:
        """Whether something was sent that may have changed something."""
        return self._client is not None and self._client.changed

    def output(self, view: ViewDefinition | None = None, *, settled: bool = False) -> Output:
        """Where the result goes. Format, filters and columns are checked here; raises `UsageError`."""
        return self.output_with(view, self.option("columns"), settled=settled)

    def output_with(self, view: ViewDefinition | None, columns: str | None, *, settled: bool = False) -> Output:
        """The same with these columns."""
        from ..output import Output

        return Output(
            self.output_format,
            stream=self.streams.out,
            view=view,
            id=self.definition.get("id"),
            text=self.definition.get("text"),
            columns=columns,
            jq=self.option("jq"),
            template=self.option("template"),
            query=self.option("query"),
            rich=self._readable,
            names=self._names,
            address=self.web_address,
            palette=self._palette_styles,
            color=wants_color("never" if self.option("no-color") else self.option("color"), self.environ),
            raw=bool(self.option("raw")),
            settled=settled,
            headers=not self.option("no-headers"),
        )

    def _readable(self, value: Any, format: str) -> str:
        from ..richtext import convert_rich_text

        return str(convert_rich_text(value, format, "markdown", nodes=self.rich_text).value)

    def _names(self, naming: str, ids: list[str]) -> Mapping[str, str]:
        from ..client.request.build import Builder
        from .naming import Namings

        builder = Builder(self.catalog, self.site(), self.program)
        return Namings(self.catalog, builder, self.client(), self.note).names_of(naming, ids)

    def web_address(self, id: str, word: str) -> str:
        """What the `address` definition of that id says of a thing; `word` is its key or id."""
        from ..language.merge import on_deployment
        from ..language.template import fill_text

        here = on_deployment(self.catalog.addresses.get(id), self.site().deployment)
        return self.site().address(here["service"]) + str(fill_text(here["url"], {"word": word}))

    def show_in_browser(self, url: str) -> None:
        """Where no browser can be started, the address is printed."""
        import webbrowser

        if webbrowser.open(url):
            self.note(f"opened {url}")
            return
        self.note("no browser could be started")
        self.streams.out.write(url + "\n")

    def _palette_styles(self, id: str) -> dict[str, str]:
        if id not in self._palettes:
            defined = self.catalog.palettes.get(id)["styles"]
            self._palettes[id] = {word.casefold(): style for word, style in defined.items()}
        return self._palettes[id]

    @cached_property
    def rich_text(self) -> dict[str, NodeDefinition]:
        """The definitions that rich text is converted by."""
        return self.catalog.nodes.all()

    def note(self, text: str) -> None:
        """A remark beside the result, on standard error."""
        if not self.option("quiet"):
            self.say(f"note: {_indent_lines(text)}")

    def note_once(self, text: str) -> None:
        """A remark that may come up again in the same run, as when one text is converted twice."""
        if text not in self._noted:
            self._noted.add(text)
            self.note(text)

    def note_more(self, start: object, total: int | None, *, is_sure: bool = True) -> None:
        """Say that a list goes on, if that is sure, and where its next page starts; `total` where that is known."""
        of, token = f" of {total}" if total is not None else "", shlex.quote(str(start))
        there = "there are" if is_sure else "there may be"
        self.note(f"{there} more items{of}: --all for every one, --page-token {token} for the next page")

    def hold(self, _request: Request, curl: str) -> None:
        """Show a request that a dry run does not send."""
        self.streams.out.write(f"{curl}\n")

    def only_tries(self, outcome: str) -> bool:
        """Whether this is a dry run, which then says what would have come of it."""
        if not self.option("dry-run"):
            return False
        self.note(f"nothing was changed: {outcome}")
        return True

    def say(self, text: str) -> None:
        """For the person; that nobody can read it changes nothing of what was asked for."""
        with suppress(OSError, ValueError):
            print(text, file=self.streams.err, flush=True)

    def will_confirm(self, question: str) -> bool:
        """Whether a person has to be asked. Raises `UsageError` where that is so and nobody can be."""
        if self.option("yes") or self.option("dry-run"):
            return False
        if self.option("no-input") or not self.streams.input.isatty():
            why = "--no-input" if self.option("no-input") else "not a terminal"
            raise ConfirmationNeeded(f"{question} refused: {why}", hint="pass --yes to confirm non-interactively")
        return True

    def confirm(self, question: str) -> None:
        """Go on only when `--yes` was given or a person at a terminal agrees; raises `UsageError` otherwise."""
        if not self.will_confirm(question):
            return
        if not self._has_said_yes(question):
            raise UsageError("not confirmed, nothing was sent")
        self._has_agreed = True

    def _has_said_yes(self, question: str) -> bool:
        self.streams.err.write(f"{escape_line(question)} [y/N] ")
        self.streams.err.flush()
        return self.streams.input.readline().strip().lower() in ("y", "yes")

    def ask_person(self, question: str) -> bool | None:
        """Whether a person at the terminal agrees; None where there is none. `--yes` is no answer: an agent types it.

        Who was asked before by the command itself, and agreed, is not asked again.
        """
        if self._has_agreed:
            return True
        if self.option("no-input") or not self.streams.input.isatty():
            return None
        return self._has_said_yes(question)

    @cached_property
    def prompts(self) -> Prompts:
        """Questions to whoever is at the terminal."""
        from .prompts import Prompts

        return Prompts(self.streams, self.environ, self.option)

    def may_ask(self) -> bool:
        """Whether somebody may be there to ask for what is missing; the options, which may forbid it, come later."""
        return not self.literal and is_attended(self.streams, self.environ)

    def is_literal(self, word: str) -> bool:
        """Whether a word stands for itself, whatever it starts with."""
        return self.literal and not isinstance(word, Typed)

    def is_foreign(self, word: str) -> bool:
        """Whether a word is not of somebody who acts for the person.

        It then names nothing by an address, mentions nobody, and brings only formatting into rich text.
        """
        return self.is_literal(word)

    def ask(self, question: str, *, default: str | None = None, hidden: bool = False) -> str:
        """What a person types at the terminal, without echo where it is `hidden`."""
        import click

        shown = default and escape_line(default)
        answer: str = click.prompt(
            escape_line(question), default=shown, hide_input=hidden, err=True, show_default=bool(shown)
        )
        return default if default is not None and answer == shown else answer

    def read_source(self, source: str) -> bytes:
        """The bytes of `@file`, of standard input for `@-` and `-`, or the text itself."""
        if self.is_literal(source):
            return source.encode("utf-8", "surrogatepass")
        if source in ("@-", "-"):
            return self.read_input()
        if not source.startswith("@"):
            return os.fsencode(source)  # the bytes as they were typed, whatever the locale calls them
        return read_file(source[1:])

    def read_input(self) -> bytes:
        """All of standard input, as far as one body may go."""
        return read_all(self.streams.input)

    def input_lines(self) -> Iterator[str]:
        """The lines of standard input without their ends."""
        return input_lines(self.streams.input)

    def hang_up(self) -> None:
        """Ask the site nothing more: what is still under way in other threads ends, and nothing is told of it."""
        if self._client is not None:
            self._client.close()

    def close(self) -> None:
        self.hang_up()
        if self._catalog is not None:
            self._catalog.close()
