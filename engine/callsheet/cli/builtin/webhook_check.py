"""`webhook check`: whether sources and routes can be used, and which routes can never match."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, UsageError, counted
from ...output.clean import one_line
from .auth import refuse_empty

OWN = ("routes", "source", "events", "queue")


def check(context: Context, values: ParameterValues) -> None:
    """Everything a listener would do before it listens, but for the address; with `--listen` that too."""
    refuse_empty(values, "inbox", "queue", "events", "public-url")
    if values.get("listen"):
        from .webhook_checkup import checkup

        checkup(context, values)
        for text in _check_queue(context, values):
            context.say(f"warning: {text}")
        return
    _refuse_options_of_listen(values)
    from ...durations import duration_seconds
    from ...listener.assemble import close_handlers
    from ...listener.handlers import HandlerContext
    from ...listener.routing.doubts import doubts
    from ...listener.routing.route import split_commas
    from ...listener.routing.route_set import RouteSelection, check_order, check_replies, read_routes
    from ...listener.verify.source import Source, check_paths
    from ..main import run_literally

    sources = {name: context.catalog.get("source", name) for name in values["source"]}
    for name, definition in sources.items():
        Source(name, definition)
    check_paths(sources)
    selection = RouteSelection(
        tuple(values["source"]), tuple(split_commas(values["events"] or ())), tuple(values["routes"] or ()), ()
    )
    listener = next(iter(context.catalog.all("listener").values()))
    timeout = duration_seconds(listener["timeout"])
    handler_context = HandlerContext("", context.environ, frozenset(), context.note, timeout, run_literally)
    rules = read_routes(context.catalog, selection, handler_context)
    asyncio.run(close_handlers(rules))
    check_order(rules, 1, shares_queue=values.get("queue") is not None)
    check_replies(rules, keeps_events=values.get("queue") is not None)
    found = doubts(rules, selection.events)
    found += _check_queue(context, values)
    for text in found:
        context.say(f"warning: {text}")
    summary = ", ".join(
        counted(count, word)
        for count, word in (
            (len(values["source"]), "source"),
            (len(rules.types), "event type"),
            (len(rules.routes), "route"),
        )
    )
    context.streams.out.write(
        f"{summary}, {counted(len(found), 'warning')}\n" if found else f"{summary}, no problems\n"
    )


def _refuse_options_of_listen(values: ParameterValues) -> None:
    for name, value in values.items():
        if name not in OWN and value not in (None, False, [], ()):
            raise UsageError(f"--{name} needs --listen")


def _check_queue(context: Context, values: ParameterValues) -> list[str]:
    """Say what a queue's settings mean; returns what to be warned of. Settings that lose events are an error."""
    if values.get("queue") is None:
        return []
    from ...listener.queue.kinds import select_queue

    found = select_queue(values["queue"], context.catalog, context.environ).guarantees(context.note)
    for fact in found.facts:
        context.note(one_line(fact))
    warnings = [one_line(text) for text in (*found.warnings, *_repeated_too_late(context, values, found.window))]
    if found.losses:
        for text in warnings:
            context.say(f"warning: {text}")
        raise CallsheetError("the queue can lose events", details=[one_line(text) for text in found.losses])
    return warnings


def _repeated_too_late(context: Context, values: ParameterValues, window: float) -> Iterator[str]:
    from ...durations import duration_seconds

    for name in values["source"]:
        retry_window = context.catalog.get("source", name).get("retry_window")
        if retry_window is not None and duration_seconds(retry_window) > window:
            yield f"{name} repeats a delivery for {retry_window}, and after {window:g} s such a one is handled again"
