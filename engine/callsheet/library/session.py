"""One site of one program as a script uses it: calls that share what is expensive."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..cli.main import call_command, telling
from ..errors import CallsheetError, UsageError, name_program
from ..language.parameters import to_identifier
from ..policy.load import from_variable
from ..sites.site import CatalogNames
from .arguments import CallArguments
from .context import ScriptCall, ScriptContext
from .results import Record, Rows

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.commands import CompiledCommand

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
        with self.telling():
            _ = self.base.catalog
            if self.base.broken is not None:
                self.base.close()
                raise self.base.broken

    @property
    def catalog(self) -> Catalog:
        return self.base.catalog

    def restrict(self, policy: str) -> None:
        """Hold to a policy beside those of machine, site and environment."""
        with self.telling():
            source = from_variable(policy, "policy", CatalogNames(self.catalog))
        self.base.restrictions = (*self.base.restrictions, source)

    def close(self) -> None:
        self._closed = True
        self.base.close()

    def builtin(self, name: str) -> tuple[str, CompiledCommand]:
        """The words and the definition of the command that runs a function of the engine."""
        found = self.catalog.find("command", name)
        if found is not None and found.get("builtin") == name:
            return name, found
        for words, command in self.catalog.all("command").items():
            if command.get("builtin") == name:
                return words, command
        raise UsageError(f"{self.base.program} has no command for this")

    def run(
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
        call = self.call(arguments, lazily=lazily, dry=dry)
        values = dict(arguments.values)
        if command.get("pages") and "builtin" not in command and not _WHOLE_LIST & values.keys():
            values["all"] = True
        with self.closing_on_error(call):
            call_command(call, words.split(), values, files=True)
            if as_bytes and not call.option("dry-run"):
                call.close()
                return call.written
            return self.result(words, call, is_list=bool(command.get("pages")))

    def call(self, arguments: CallArguments = NO_ARGUMENTS, *, lazily: bool = False, dry: bool = False) -> ScriptCall:
        """Raises `UsageError` where the program was closed."""
        if self._closed:
            raise UsageError(f"{self.base.program} was closed", hint="open it again")
        call = ScriptCall(self.base, lazily=lazily)
        call.streams.input = io.StringIO(arguments.input)
        given = {"yes": arguments.yes, "dry-run": dry}
        call.options.update({name: True for name, value in given.items() if value})
        return call

    def result(self, words: str, call: ScriptCall, *, is_list: bool = False) -> Any:
        if call.option("dry-run"):
            call.close()
            return call.requests
        if call.is_in_file:
            call.close()
            return None
        if call.items is not None or (is_list and not call.things and not call.written):
            return Rows(words, call, lambda: self.closing_on_error(call))
        call.close()
        if not call.things:
            return call.written.decode("utf-8", "backslashreplace") or None
        found = [Record(thing, call) if isinstance(thing, dict) else thing for thing in call.things]
        return found[0] if len(found) == 1 else found

    @contextmanager
    def closing_on_error(self, call: ScriptCall) -> Iterator[None]:
        try:
            with self.telling(), telling(call):
                yield
        except BaseException:
            call.close()
            raise

    @contextmanager
    def telling(self) -> Iterator[None]:
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
