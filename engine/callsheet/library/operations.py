"""Every operation of a program as a function, by its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, did_you_mean
from ..jsontext import dump_json
from ..language.identifier import to_identifier
from ..language.safety import class_of_operation
from .arguments import OF_A_CALL, checked, jsonable, python_name

if TYPE_CHECKING:
    from ..language.shape.rest import CompiledOperation
    from .planned import PlannedRequest
    from .results import Rows
    from .session import Session

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
        definition = self._session.catalog.find("operation", id)
        if definition is None:
            near = did_you_mean(id, self._session.catalog.ids("operation"))
            hint = f"{self._session.base.program} op search WORDS finds operations"
            raise UnknownOperation(f"no operation {id!r}{near}", hint=hint)
        return ProgramOperation(self._session, id, definition)

    def __repr__(self) -> str:
        return f"<operations of {self._session.base.program}>"

    def __dir__(self) -> list[str]:
        return [id for id in self._session.catalog.ids("operation") if id.isidentifier()]


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
        return self._call(given, {})

    def planned(self, **given: Any) -> list[PlannedRequest]:
        """The request that a call with these values would send. Nothing is sent."""
        found: list[PlannedRequest] = self._call(given, {}, dry=True)
        return found

    def all(self, most: int | None = None, /, **given: Any) -> Rows:
        """Every row of a list, or the first `most`; each page is asked for when it is needed."""
        self._refuse_without_pages()
        rows: Rows = self._call(given, {"all": True} if most is None else {"max": most})
        return rows

    def pages(self, **given: Any) -> Iterator[list[dict[str, Any]]]:
        """A list page by page, each with its rows."""
        self._refuse_without_pages()
        token: str | None = None
        while True:
            rows: Rows = self._call(given, {} if token is None else {"page-token": token})
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

    def _call(self, given: Mapping[str, Any], paging: Mapping[str, Any], *, dry: bool = False) -> Any:
        words, command = self._session.builtin(_CALLING)
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
        arguments = checked(self._id, command, values, options)
        lazily = class_of_operation(self._definition) == "read"
        return self._session.run(words, command, arguments, lazily=lazily, as_bytes=is_file, dry=dry)

    def _body(self, value: Any) -> str:
        media = str(self._definition.get("body", {}).get("media", "application/json"))
        if media.endswith("json"):
            return dump_json(jsonable(self._id, "body", value))
        if isinstance(value, str):
            return value
        raise UsageError(f"{self._id}: body takes a text, as it is {media}")

    def _refuse_without_pages(self) -> None:
        if "paginate" not in self._definition:
            raise UsageError(f"{self._id} has no pages", hint="call it itself: it answers everything at once")
