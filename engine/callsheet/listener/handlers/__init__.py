"""What can be done with an event. Each handler is a class made from its table in a route."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...language.shape import listener as shape


MAX_RESULT = 65536  # bytes of what a handler gave, where that is looked at


class HandlerFailed(Exception):
    """An event could not be handled now; the text says why, for the log. It will be tried again."""


class CannotSend(HandlerFailed):
    """Nothing can be made of this event for the handler, which says nothing about its target."""


def failure_of(error: BaseException) -> HandlerFailed:
    """What a person's code raised, whatever it is and however it words itself."""
    if isinstance(error, HandlerFailed):
        return error
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an exception whose text cannot be had, and which raises what it likes
        text = ""
    return HandlerFailed(f"{type(error).__name__}: {text}" if text else type(error).__name__)


# Gets why an event could not be handled, or nothing.
Ended = Callable[[HandlerFailed | None], None]


# Runs a command of a program of definitions in this process and returns its exit code: of the program, the words, and
# the values of parameters, which are literal, whatever they hold, but for those named in `typed`; with `environ`,
# `stdin`, `stdout` and `stderr`.
RunCommand = Callable[..., int]


class HandlerContext(NamedTuple):
    """What handlers are made in: the folder of their routes, the environment, and where their output goes.

    `hidden` are the variables of the environment that hold secrets. `wants_result`: the route makes an answer of it.
    `processes` share what a target may get.
    `envelopes` are the forms that they may name, `brokers` the kinds of brokers, `stored` finds a secret of the key
    store by its name.
    """

    folder: str
    environ: Mapping[str, str]
    hidden: frozenset[str]
    report: Callable[[str], None]
    timeout: float
    run_command: RunCommand
    wants_result: bool = False
    processes: int = 1
    envelopes: Mapping[str, shape.EnvelopeDefinition] = MappingProxyType({})
    brokers: Mapping[str, shape.BrokerDefinition] = MappingProxyType({})
    stored: Callable[[str], str] = str
