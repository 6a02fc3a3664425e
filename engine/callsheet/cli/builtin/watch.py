"""`watch`: what is new or changed on a site becomes an event, printed or handled as one that a webhook brings."""

from __future__ import annotations

import asyncio
import os
import shlex
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ...commands.context import Context, ParameterValues
from ...commands.mirror.watch import Watched, locked_state, opened_watch
from ...errors import CallsheetError, UsageError, count_of, did_you_mean
from ...jsontext import dump_json
from ..signals import release_hangup
from .auth import refuse_empty
from .listen import in_processes, line_writers, options_of, serve_until_stopped, withhold_secrets

if TYPE_CHECKING:
    from ...commands.mirror.watch import ReportEvent, ResourceWatch
    from ...listener.assemble import Assembly
    from ...listener.server.listening_sockets import Notifier
    from ...listener.worker_process import WorkerAssignment

SOURCE = "watch"
_LEAST_PAUSE = 1.0
_RETRY_DELAY = 5.0
_JOIN_TIMEOUT = 2.0


def watch_things(context: Context, values: ParameterValues) -> None:
    from ...commands.mirror.mirror_file import resource_called

    if context.option("dry-run"):
        raise UsageError("watch has no dry run: it changes nothing on the site")
    if values["every"] < _LEAST_PAUSE:
        raise UsageError(f"--every: {values['every']:g} s is too short", hint="at least 1s")
    refuse_empty(values, "inbox")
    command, routes, inbox = list(values["command"] or ()), list(values["routes"] or ()), values["inbox"]
    handles = bool(command or routes)
    if inbox and not handles:
        raise UsageError("--inbox needs something to do with the events", hint="give --routes FILE or -- COMMAND")
    resources = context.catalog.resources.all()
    within = {id: words for id in resources if (words := values.get(id))}
    reader = [os.path.abspath(inbox)] if inbox else [*map(os.path.abspath, routes), "--", *command]
    chosen = resource_called(values["resource"], resources)
    if chosen not in resources:
        single = [f"{context.program} {words}" for words in context.catalog.commands.ids() if words.endswith(" watch")]
        hint = "it is a kind of thing, one of those that `{program} mirror` reads"
        hint += f"; to watch one thing: {', '.join(single)}" if single else ""
        raise UsageError(f"no resource {chosen!r}{did_you_mean(chosen, resources)}", hint=hint)
    watched = Watched(chosen, within, values.get("where"), reader)
    state = watched.state_file(context)
    with locked_state(state):
        if handles:
            inbox = inbox or state.removesuffix(".sqlite") + ".inbox.sqlite"
            asked = {"source": [SOURCE], "routes": routes, "inbox": inbox, "insecure": True}
            asked["handler"] = [shlex.join(command)] if command else []
            in_processes(context, None, None, partial(_handle_events, context, watched, values["every"], asked))
        else:
            release_hangup()
            report = _event_printer(context)
            with opened_watch(context, watched) as found:
                _begin_watch(context, watched, found)
                _poll_until_stopped(context, found, report, values["every"], threading.Event())


def _begin_watch(context: Context, watched: Watched, found: ResourceWatch) -> None:
    read = found.begin_watch()
    if read is None:
        context.note(f"watching {watched.resource}, going on where the last run stopped")
    else:
        context.note(f"watching {watched.resource}: {count_of(read, 'thing')} there now, none of which is an event")


def _poll_until_stopped(
    context: Context, found: ResourceWatch, report: ReportEvent, every: float, stopping: threading.Event
) -> None:
    """Until it is stopped. What goes wrong is said once, and tried again: a site is away for some time now and then."""
    is_away = False
    while not stopping.is_set():
        try:
            found.poll_changes(report)
        except CallsheetError as error:
            if not is_away:
                context.say(f"warning: {error.message}; trying again every {every:g} s")
            is_away = True
        else:
            if is_away:
                context.note("the site answers again")
            is_away = False
        stopping.wait(every)


def _event_printer(context: Context) -> ReportEvent:
    """A line of JSON for each event, the same that handlers get."""
    from ...listener.verify.source import Source
    from ...output.output_formats import renderer_of

    if not context.option("output"):
        context.options["output"] = "ndjson"
    if not renderer_of(context.output_format).streams:
        raise UsageError(f"watch cannot print -o {context.output_format}: use -o ndjson")
    source = Source(SOURCE, context.catalog.sources.get(SOURCE))
    output = context.output()

    def report(event: dict[str, Any]) -> None:
        output.print_items([source.receive_event([], b"", dump_json(event).encode(), time.time()).record])
        context.streams.out.flush()

    return report


def _handle_events(
    context: Context,
    watched: Watched,
    every: float,
    asked: dict[str, Any],
    _address: object,
    part: WorkerAssignment | None,
    notifier: Notifier,
) -> None:
    """With the listener's inbox and handlers, and a thread that fills the inbox in the place of senders."""
    from ...listener.assemble import Assembly
    from ..main import run_literally

    stopping = threading.Event()
    with line_writers(context, part) as (err, _):
        assembly = Assembly(
            context.catalog, options_of(asked, None), dict(context.environ), err, None, run_literally, part
        )
        withhold_secrets(assembly.context.hidden)
        with opened_watch(context, watched) as found:
            _begin_watch(context, watched, found)

        def poll(loop: asyncio.AbstractEventLoop) -> None:
            with suppress(_Stopped), opened_watch(context, watched) as found:
                _poll_until_stopped(context, found, _inbox_keeper(assembly, loop, stopping), every, stopping)

        threads: list[threading.Thread] = []

        def announce() -> None:
            thread = threading.Thread(target=poll, args=(asyncio.get_running_loop(),), daemon=True)
            threads.append(thread)
            thread.start()

        try:
            serve_until_stopped(assembly, [], part, notifier, announce)
        finally:
            stopping.set()
            for thread in threads:
                thread.join(_JOIN_TIMEOUT)  # a request may take longer, and what it finds is found again


class _Stopped(Exception):
    """The run ends before an event was kept."""


def _inbox_keeper(assembly: Assembly, loop: asyncio.AbstractEventLoop, stopping: threading.Event) -> ReportEvent:
    """Ends when the event is in the inbox, which knows one that it has."""

    def report(event: dict[str, Any]) -> None:
        data = dump_json(event).encode()
        if stopping.is_set() or loop.is_closed():
            raise _Stopped
        asyncio.run_coroutine_threadsafe(_keep_event(assembly, data), loop).result()

    return report


async def _keep_event(assembly: Assembly, data: bytes) -> None:
    event = assembly.sources[0].receive_event([], b"", data, time.time())
    table = assembly.app.routing_table
    jobs = table.jobs_for_event(table.plan_of_event(event), event)
    while True:
        verdict = assembly.app.dispatcher.dispatch(event, jobs)
        if isinstance(verdict, asyncio.Future):
            verdict = await verdict
        if verdict.status < 300:  # kept, or known
            return
        assembly.log.write_note(f"event {event.id} is not kept yet: {verdict.detail}")
        await asyncio.sleep(_RETRY_DELAY)
