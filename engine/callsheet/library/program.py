"""A program in Python: its groups are attributes, its commands are functions, also each operation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from .. import urls
from ..errors import UsageError, did_you_mean
from ..jsontext import dump_json
from ..language.parameters import help_without_input, is_required, to_identifier
from ..language.safety import class_of_operation
from ..registry import SERVING, TALKING
from .arguments import OF_A_CALL, arguments_of, check_arguments, in_order, json_value_of, python_name
from .session import Session, in_python

if TYPE_CHECKING:
    import inspect
    from types import TracebackType

    from ..catalog.catalog import Child
    from ..language.shape.commands import CompiledCommand
    from ..language.shape.rest import CompiledOperation
    from .session import PlannedRequest, Rows
    from .things import ResourceThings


# Every operation of a program as a function, by its id.


_CALLING = "op call"  # the engine's function
_BESIDE = {"body", "files", "params", "out", "strict"}  # what is given beside the parameters of an operation


class UnknownOperation(UsageError, AttributeError):
    """An attribute that is no operation of the program."""


class ProgramOperations:
    """Each operation is an attribute."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getattr__(self, id: str) -> ProgramOperation:
        if id.startswith("_"):
            raise AttributeError(id)
        return self[id]

    def __getitem__(self, id: str) -> ProgramOperation:
        """Also one whose id is no name in Python, with a dot in it for one."""
        definition = self._session.catalog.operations.find(id)
        if definition is None:
            near = did_you_mean(id, self._session.catalog.operations.ids())
            hint = f"{self._session.base.program} op search WORDS finds operations"
            raise UnknownOperation(f"no operation {id!r}{near}", hint=hint)
        return ProgramOperation(self._session, id, definition)

    def __repr__(self) -> str:
        return f"<operations of {self._session.base.program}>"

    def __dir__(self) -> list[str]:
        return [id for id in self._session.catalog.operations.ids() if id.isidentifier()]


class ProgramOperation:
    """One operation. Its parameters are given by their names.

    Beside them, where it has none of these names: `body` as Python values, `files` as paths, `params` for names that
    Python cannot write, `out` for the file that an answer is written to, `strict=False` for what its documentation does
    not know, and `yes`.
    """

    def __init__(self, session: Session, id: str, definition: CompiledOperation) -> None:
        self._session = session
        self._id = id
        self._definition = definition
        self._names = {python_name(param["name"]): param["name"] for param in definition.get("params", ())}
        self._names |= {name: name for name in self._names.values()}

    def __call__(self, **given: Any) -> Any:
        """What it answers: a record, one page of rows, or the bytes of a file."""
        return self._call_operation(given, {})

    def planned(self, **given: Any) -> list[PlannedRequest]:
        """The request that a call with these values would send. Nothing is sent."""
        found: list[PlannedRequest] = self._call_operation(given, {}, dry=True)
        return found

    def all(self, most: int | None = None, /, **given: Any) -> Rows:
        """Every row of a list, or the first `most`; each page is asked for when it is needed."""
        self._refuse_without_pages()
        rows: Rows = self._call_operation(given, {"all": True} if most is None else {"max": most})
        return rows

    def pages(self, **given: Any) -> Iterator[list[dict[str, Any]]]:
        """A list page by page, each with its rows."""
        self._refuse_without_pages()
        token: str | None = None
        while True:
            rows: Rows = self._call_operation(given, {} if token is None else {"page-token": token})
            yield list(rows)
            token = rows.next_page_token
            if token is None:
                return

    def __repr__(self) -> str:
        return f"<operation {self._id}({', '.join(map(to_identifier, dict.fromkeys(self._names.values())))})>"

    @property
    def __doc__(self) -> str:  # type: ignore[override] # of the instance: what help() and a notebook show
        lines = [f"{each['name']}: {each.get('help', '')}".strip() for each in self._definition.get("params", ())]
        return "\n".join([str(self._definition.get("title", self._id)), "", *lines])

    def _call_operation(self, given: Mapping[str, Any], paging: Mapping[str, Any], *, dry: bool = False) -> Any:
        words, command = self._session.find_builtin(_CALLING)
        own = {self._names[name]: value for name, value in given.items() if name in self._names}
        beside = {name: value for name, value in given.items() if name not in self._names and name not in OF_A_CALL}
        for name in beside.keys() - _BESIDE:
            near = did_you_mean(name, self._names)
            raise UsageError(f"{self._id} takes no {name!r}{near}", hint=f"{self._id} takes: {', '.join(self._names)}")
        values = {
            "id": self._id,
            "param": {**own, **beside.get("params", {})},
            "data": self._body(beside["body"]) if "body" in beside else None,
            "file": beside.get("files"),
            "out": beside.get("out"),
            "no-strict": not beside.get("strict", True),
            **paging,
        }
        options = {name: value for name, value in given.items() if name in OF_A_CALL and name not in self._names}
        is_file = self._definition.get("reply") == "binary" and values["out"] is None
        arguments = check_arguments(self._id, command, values, options)
        lazily = class_of_operation(self._definition) == "read"
        return self._session.run_command(words, command, arguments, lazily=lazily, as_bytes=is_file, dry=dry)

    def _body(self, value: Any) -> str:
        media = str(self._definition.get("body", {}).get("media", "application/json"))
        if media.endswith("json"):
            return dump_json(json_value_of(self._id, "body", value))
        if isinstance(value, str):
            return value
        raise UsageError(f"{self._id}: body takes a text, as it is {media}")

    def _refuse_without_pages(self) -> None:
        if "paginate" not in self._definition:
            raise UsageError(f"{self._id} has no pages", hint="call it itself: it answers everything at once")


# A program in Python: its groups are attributes, its commands are functions.


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
            session.add_restriction(policy)
        if options["site"] is not None or address[0] is not None:
            with session.errors_for_scripts():
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
        children = self._child_entries()
        child = children.get(name) or next((each for each in children.values() if _is_called(each, name)), None)
        if child is None:
            whole = f"{self._session.base.program} {self._words}".strip()
            raise UnknownName(f"{whole} has no {name!r}{did_you_mean(name, children)}", hint=f"see {whole} --help")
        words = f"{self._words} {child.name}".strip()
        return ProgramGroup(self._session, words) if child.kind == "group" else ProgramCommand(self._session, words)

    def __dir__(self) -> list[str]:
        return sorted(self._child_entries())

    def __repr__(self) -> str:
        return f"<{self._session.base.program} {self._words}: {', '.join(self._child_entries())}>"

    def __call__(self, *args: Any, **values: Any) -> Any:
        default = self._session.catalog.groups.get(self._words).get("default")
        if default is None:
            raise UsageError(f"{self._words} is a group", hint=f"its commands: {', '.join(self._child_entries())}")
        return ProgramCommand(self._session, f"{self._words} {default}")(*args, **values)

    def _child_entries(self) -> dict[str, Child]:
        children = self._session.catalog.children_of(self._words)
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
        self._definition: CompiledCommand = session.catalog.commands.get(words)

    def __call__(self, *args: Any, **values: Any) -> Any:
        return self._run_command(args, values)

    def planned(self, *args: Any, **values: Any) -> list[PlannedRequest]:
        """The requests that a call with these values would send. Nothing is sent."""
        found: list[PlannedRequest] = self._run_command(args, values, dry=True)
        return found

    def _run_command(self, args: Sequence[Any], values: Mapping[str, Any], *, dry: bool = False) -> Any:
        if self._definition.get("builtin") in SERVING | TALKING:
            program = self._session.base.program
            raise UsageError(f"{self._words} serves until it is stopped", hint=f"start `{program} {self._words}`")
        arguments = arguments_of(self._words, self._definition, args, values)
        lazily = self._definition["safety"] == "read" and "builtin" not in self._definition
        return self._session.run_command(self._words, self._definition, arguments, lazily=lazily, dry=dry)

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
        group = self._session.catalog.groups.find(words)
        if group is not None and "default" in group:
            words = f"{words} {group['default']}"
        if self._session.catalog.commands.find(words) is None:
            near = did_you_mean(words, self._session.catalog.commands.ids())
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
        return f"<{self._session.base.program}: {', '.join(self._child_entries())}>"
