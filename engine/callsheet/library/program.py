"""A program in Python: its groups are attributes, its commands are functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from .. import urls
from ..errors import UsageError, did_you_mean
from ..language.parameters import help_without_input, is_required
from ..registry import SERVING, TALKING
from .arguments import arguments_of, in_order, python_name
from .operations import ProgramOperations
from .session import Session, in_python

if TYPE_CHECKING:
    import inspect
    from types import TracebackType

    from ..catalog.catalog import Child
    from ..language.shape.commands import CompiledCommand
    from .planned import PlannedRequest
    from .things import ResourceThings


class UnknownName(UsageError, AttributeError):
    """An attribute that is no command of the program."""


def open_program(
    program: str,
    site: str | None = None,
    *,
    base_url: str | None = None,
    email: str | None = None,
    token: str | None = None,
    policy: str | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> Any:
    """A program at one site, as its command line has it: profiles, credentials, policy, quota and retries.

    `site` names a site of the profiles; without it the one in use is meant. `base_url`, `email` and `token` are an
    address and its credential that stand in no profile. `policy` is text such as `read-only` or
    `destroy=deny,write=ask`, or the path of a file; it only makes stricter. With `dry_run` nothing is sent, and every
    call gives the list of requests that it would send. `yes` agrees to what a person would be asked.

    The result is a `Program`, of which a checker of types is told nothing: the class that `callsheet stubs` writes says
    what this program has.

    Raises `UsageError` for what cannot be meant, and `NotAllowed` where a policy cannot be read.
    """
    options = {"site": site, "dry-run": dry_run or None, "yes": yes or None}
    _refuse_mixed(site, base_url, email, token)
    return _open_session(program, dict(os.environ), options, (base_url, email, token), policy)


def open_in(environ: Mapping[str, str], program: str, site: str | None = None) -> Program:
    """A program at one site with these variables instead of the process's own. Raises what `open_program` raises."""
    return _open_session(program, dict(environ), {"site": site})


def _open_session(
    program: str,
    environ: dict[str, str],
    options: Mapping[str, Any],
    address: tuple[str | None, str | None, str | None] = (None, None, None),
    policy: str | None = None,
) -> Program:
    session = Session(program, environ, {name: value for name, value in options.items() if value is not None})
    try:
        _set_site(session, environ, *address)
        if policy is not None:
            session.restrict(policy)
        if options["site"] is not None or address[0] is not None:
            with session.telling():
                session.base.site()  # one that there is not is told now, and not by the first call
    except BaseException:
        session.close()
        raise
    return Program(session)


def _set_site(
    session: Session, environ: dict[str, str], base_url: str | None, email: str | None, token: str | None
) -> None:
    """An address and its credential stand where the environment has them; an address alone, where the option does."""
    prefix = session.base.definition["prefix"]
    if token is not None and base_url is not None:
        environ.pop(f"{prefix}_SITE", None)  # the address that is given is meant
        environ[f"{prefix}_BASE_URL"] = urls.base_url(base_url, "base_url")
    elif base_url is not None:
        session.base.options["base-url"] = urls.base_url(base_url, "base_url")
    for name, value in (("EMAIL", email), ("TOKEN", token)):
        if value is not None:
            environ[f"{prefix}_{name}"] = value


def _refuse_mixed(site: str | None, base_url: str | None, email: str | None, token: str | None) -> None:
    if site is not None and "," in site:
        raise UsageError(f"site names one site, not {site!r}", hint="open the program once for each")
    if site is not None and (token is not None or email is not None):
        raise UsageError("a site has its own credential: give site, or base_url with token", hint="nothing was sent")
    if email is not None and token is None:
        raise UsageError("email goes with token")
    if token is not None and base_url is None:
        raise UsageError("token goes with base_url, the address that it is for")


class ProgramGroup:
    """Some commands of a program, each an attribute. A group with a default command can be called as that."""

    def __init__(self, session: Session, words: str) -> None:
        self._session = session
        self._words = words

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        children = self._children()
        child = children.get(name) or next((each for each in children.values() if _is_called(each, name)), None)
        if child is None:
            whole = f"{self._session.base.program} {self._words}".strip()
            raise UnknownName(f"{whole} has no {name!r}{did_you_mean(name, children)}", hint=f"see {whole} --help")
        words = f"{self._words} {child.name}".strip()
        return ProgramGroup(self._session, words) if child.kind == "group" else ProgramCommand(self._session, words)

    def __dir__(self) -> list[str]:
        return sorted(self._children())

    def __repr__(self) -> str:
        return f"<{self._session.base.program} {self._words}: {', '.join(self._children())}>"

    def __call__(self, *args: Any, **values: Any) -> Any:
        default = self._session.catalog.get("group", self._words).get("default")
        if default is None:
            raise UsageError(f"{self._words} is a group", hint=f"its commands: {', '.join(self._children())}")
        return ProgramCommand(self._session, f"{self._words} {default}")(*args, **values)

    def _children(self) -> dict[str, Child]:
        children = self._session.catalog.children(self._words)
        return {python_name(child.name): child for child in children if not child.hidden}


def _is_called(child: Child, name: str) -> bool:
    return name in map(python_name, child.aliases)


class ProgramCommand:
    """One command. Values have the names of its options, and the order of its arguments where they have no name.

    Beside them every command takes `yes=True`, which agrees to what a person would be asked, and `input`, a text that
    stands where it reads standard input.
    """

    def __init__(self, session: Session, words: str) -> None:
        self._session = session
        self._words = words
        self._definition: CompiledCommand = session.catalog.get("command", words)

    def __call__(self, *args: Any, **values: Any) -> Any:
        return self._run(args, values)

    def planned(self, *args: Any, **values: Any) -> list[PlannedRequest]:
        """The requests that a call with these values would send. Nothing is sent."""
        found: list[PlannedRequest] = self._run(args, values, dry=True)
        return found

    def _run(self, args: Sequence[Any], values: Mapping[str, Any], *, dry: bool = False) -> Any:
        if self._definition.get("builtin") in SERVING | TALKING:
            program = self._session.base.program
            raise UsageError(f"{self._words} serves until it is stopped", hint=f"start `{program} {self._words}`")
        arguments = arguments_of(self._words, self._definition, args, values)
        lazily = self._definition["safety"] == "read" and "builtin" not in self._definition
        return self._session.run(self._words, self._definition, arguments, lazily=lazily, dry=dry)

    def __repr__(self) -> str:
        return f"<{self._session.base.program} {self._words}{self.__signature__}>"

    @property
    def __doc__(self) -> str:  # type: ignore[override] # of the instance: what help() and a notebook show
        params = [each for each in self._definition.get("params", ()) if not each.get("hidden") and "help" in each]
        lines = [f"{python_name(each['name'])}: {in_python(help_without_input(each))}" for each in params]
        return "\n".join([self._definition["help"], "", *lines])

    @property
    def __signature__(self) -> inspect.Signature:
        import inspect

        params = [each for each in self._definition.get("params", ()) if not each.get("hidden")]
        placed = in_order(params)
        ordered = [*placed, *(each for each in params if each not in placed)]
        return inspect.Signature(
            [
                inspect.Parameter(
                    python_name(each["name"]),
                    inspect.Parameter.POSITIONAL_OR_KEYWORD if each in placed else inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if is_required(each) and each not in placed[1:] else None,
                )
                for each in ordered
            ]
        )


class Program(ProgramGroup):
    """What `open` gives: the groups and commands of a program as attributes, and its operations and things.

    Use it in `with`, or close it in the end. Safe with several threads.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, "")

    @property
    def op(self) -> ProgramOperations:
        """Every operation by its id: `shop.op.getOrder(id=7)`."""
        return ProgramOperations(self._session)

    def resource(self, name: str) -> ResourceThings:
        """The things of one resource, such as `page`: `.get(word)` and `.list(...)`."""
        from .things import ResourceThings

        return ResourceThings(self._session, name)

    def command(self, words: str) -> ProgramCommand:
        """A command by its words, also one whose name something else has here; of a group, its default command."""
        group = self._session.catalog.find("group", words)
        if group is not None and "default" in group:
            words = f"{words} {group['default']}"
        if self._session.catalog.find("command", words) is None:
            near = did_you_mean(words, self._session.catalog.ids("command"))
            raise UsageError(f"{self._session.base.program} has no command {words!r}{near}")
        return ProgramCommand(self._session, words)

    def close(self) -> None:
        """End its connections; nothing can be called after that."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), "op", "resource", "command", "close"})

    def __repr__(self) -> str:
        return f"<{self._session.base.program}: {', '.join(self._children())}>"
