"""The tables of handlers: what each kind has beside the keys of all. A handler's class names its own."""

from __future__ import annotations

from typing import Annotated, Literal, Required

from pydantic import Field

from .base import Expression, HeaderName, Template, Value, reference, seeing
from .listener import OF_A_RUN, OF_AN_EVENT, HandlerDefinition

_Run = Annotated[
    Template | list[Template],
    seeing(*OF_AN_EVENT),
    Field(description="exec: program and arguments. command: words, or the whole argument list."),
]
_Input = Annotated[
    Literal["event", "payload", "raw", "none"],
    Field(description="On standard input: the event (default), the payload, the bytes as received, nothing."),
]
_Send = Annotated[
    Value, seeing(*OF_AN_EVENT), Field(description="What is sent instead: a text, or a table or list as JSON.")
]
_Envelope = Annotated[str, reference("envelope", description="The form in which the event is sent instead.")]
_Secrets = Annotated[
    list[str], Field(description="exec, command: variables with secrets that it gets to see; no others are.")
]
_Success = Annotated[
    Expression, seeing(*OF_A_RUN), Field(description="What holds for a success; sees also `result`, what was given.")
]


class RunsProgram(HandlerDefinition, total=False):
    """The table of `exec`."""

    run: Required[_Run]
    input: _Input
    send: _Send
    envelope: _Envelope
    dir: Annotated[str, Field(description="exec: working directory. Default: the folder of the routes file.")]
    env: Annotated[dict[str, Template], seeing(*OF_AN_EVENT), Field(description="exec: further environment variables.")]
    secrets: _Secrets
    success: _Success


class CallsFunction(HandlerDefinition, total=False):
    """The table of `python`."""

    call: Required[Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$", description="python: module:function.")]]
    process: Annotated[
        bool, Field(description="python: run it in processes of their own, which are ended when they take too long.")
    ]
    program: Annotated[
        str, Field(description="python: the function gets this program too, as `callsheet.open` gives it to a script.")
    ]
    site: Annotated[str, Field(description="python: the site of that program. Default: the one in use.")]
    success: _Success


class ForwardsEvent(HandlerDefinition, total=False):
    """The table of `forward`."""

    url: Required[Annotated[Template, seeing(*OF_AN_EVENT), Field(description="forward: where to.")]]
    headers: Annotated[dict[HeaderName, Template], seeing(*OF_AN_EVENT), Field(description="forward: further headers.")]
    send: _Send
    envelope: _Envelope
    success: _Success


class AppendsEvent(HandlerDefinition, total=False):
    """The table of `append`."""

    file: Required[Annotated[str, Field(description="append: the file, one event a line.")]]
    input: _Input
    send: _Send
    envelope: _Envelope


class RunsCommand(HandlerDefinition, total=False):
    """The table of `command`."""

    program: Required[Annotated[str, Field(description="command: the program that runs.")]]
    run: Required[_Run]
    params: Annotated[
        dict[str, Value], seeing(*OF_AN_EVENT), Field(description="command: values of its arguments and options.")
    ]
    input: _Input
    send: _Send
    envelope: _Envelope
    secrets: _Secrets
    success: _Success
