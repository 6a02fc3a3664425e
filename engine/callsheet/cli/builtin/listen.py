"""`listen` and `work`: receiving events, and handling those of an inbox."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...collector import give_memory_back
from ...commands.context import Context, ParameterValues
from ...durations import duration_seconds
from ...errors import UsageError, count_of
from ...listener.server.listening_sockets import (
    PASSED,
    ListenAddress,
    Notifier,
    bind_for_workers,
    bind_sockets,
    has_passed,
    parse_served_address,
    passed_address,
    take_address,
    urls_of_sockets,
)
from ...urls import refuse_login
from ..signals import begin_serving, end_at_once
from .auth import refuse_empty

if TYPE_CHECKING:
    from ...listener.assemble import Assembly, ListenOptions
    from ...listener.telemetry.log import LineWriter
    from ...listener.worker_process import WorkerAssignment


# What `webhook listen` and `webhook work` share: several processes, the log, the server.


MOST_WORKERS = 256
LoadTls = Callable[[], ssl.SSLContext]


def workers_of(text: str | None) -> int:
    """How many processes `--workers` asks for. Raises `UsageError`, also where a system cannot have several."""
    from ...listener.machine_limits import usable_cores
    from ...listener.worker_process import can_have_workers

    if text is None:
        return 1
    if text != "auto" and not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_WORKERS):
        raise UsageError(f"--workers: {text!r} is not a number from 1 to {MOST_WORKERS}, or auto")
    count = usable_cores() if text == "auto" else int(text)
    if count > 1 and not can_have_workers():
        raise UsageError("--workers needs Linux or macOS", hint="omit it: this system uses one process")
    return count


def in_processes(
    context: Context,
    address: ListenAddress | None,
    workers: str | None,
    run: Callable[[ListenAddress | None, WorkerAssignment | None, Notifier], None],
) -> None:
    """Call `run` here, or let a supervisor start the same command as often as `--workers` says.

    A process that a supervisor started has its part of the work. `run` gets the address with the sockets that were
    passed to this process, where that is what was asked for.
    """
    from ...listener.worker_process import pop_assignment

    count = workers_of(workers)
    environ = context.environ if isinstance(context.environ, MutableMapping) else dict(context.environ)
    part = pop_assignment(environ)
    notifier = Notifier(environ)
    if address is not None and address.is_passed:
        address = take_address(environ) if part is None else passed_address(part.sockets)
    elif has_passed(environ):
        context.say(f"warning: sockets were passed that nothing serves; --addr {PASSED} serves them")
    begin_serving()
    if part is None and count > 1:
        _supervise_workers(context, address, count, notifier)
    else:
        run(address, part, notifier)


def _supervise_workers(context: Context, address: ListenAddress | None, count: int, notifier: Notifier) -> None:
    """Run the same command `count` times, until all have ended."""
    from ...listener.supervisor import Supervisor

    drain_timeout = duration_seconds(next(iter(context.catalog.listeners.all().values()))["drain_timeout"])
    sockets = bind_for_workers(address) if address is not None else []
    with _closed_at_the_end(sockets, address):
        shared = address is not None and address.is_passed
        code = Supervisor(
            count, sockets, partial(_say, context), notifier.notify_ready, shared=shared, drain_timeout=drain_timeout
        ).run_workers()
    if code:
        raise SystemExit(code)  # what is wrong has been said


def _say(context: Context, text: str) -> None:
    with ignoring_lost_output():
        context.note(text)


def ignoring_lost_output() -> contextlib.AbstractContextManager[None]:
    """Around what is said to the operator: on a full disk it cannot be written, and serving goes on."""
    return contextlib.suppress(OSError)


@contextlib.contextmanager
def opened_sockets(address: ListenAddress | None, part: WorkerAssignment | None) -> Iterator[list[socket.socket]]:
    """The sockets to serve; none where there is no address."""
    if part is not None:
        sockets = part.open_sockets()
    elif address is not None:
        sockets = bind_sockets(address)
    else:
        sockets = []
    with _closed_at_the_end(sockets, address if part is None else None):
        yield sockets


@contextlib.contextmanager
def _closed_at_the_end(sockets: list[socket.socket], address: ListenAddress | None) -> Iterator[None]:
    try:
        yield
    finally:
        for each in sockets:
            each.close()
        if address is not None and address.path:
            with contextlib.suppress(OSError):
                os.remove(address.path)


@contextlib.contextmanager
def line_writers(
    context: Context, part: WorkerAssignment | None, *, events: bool = False
) -> Iterator[tuple[LineWriter, LineWriter | None]]:
    """What writes standard error, and standard output where whole events are wanted."""
    from ...listener.telemetry.log import LineWriter

    give_memory_back()  # before the first thread: glibc would set 64 MB of addresses aside for it
    lock = part.log_lock if part is not None else None
    err = LineWriter(context.streams.err, _missing_lines, lock=lock)
    out = LineWriter(context.streams.out, lock=lock) if events else None
    try:
        yield err, out
    finally:
        err.close()
        if out is not None:
            out.close()


def _missing_lines(lines: int) -> str:
    return f"{count_of(lines, 'line')} of this log could not be written"


def tls_loader(values: Mapping[str, Any]) -> LoadTls | None:
    """What reads the certificate, if https is asked for. Raises `UsageError`, also where it cannot be used now."""
    certificate, key = values.get("tls-cert"), values.get("tls-key")
    if certificate is None:
        if key is not None:
            raise UsageError("--tls-key needs --tls-cert")
        return None
    from ...listener.certificates import tls_context

    load = partial(tls_context, certificate, key)
    load()
    return load


def withhold_secrets(names: Collection[str]) -> None:
    """Take secrets, which were read by now, out of the environment that functions and what they start would see."""
    for name in names:
        os.environ.pop(name, None)


def serve_until_stopped(
    assembly: Assembly,
    sockets: list[socket.socket],
    part: WorkerAssignment | None,
    notifier: Notifier,
    announce: Callable[[], None],
    load_tls: LoadTls | None = None,
) -> None:
    """Until told to stop, and what runs has ended. `announce` says what is served, once it is."""
    from ...listener.server.server_process import Listener, run_server

    def ready() -> None:
        if part is None or part.announces:
            with ignoring_lost_output():
                announce()
        if part is not None:
            part.signal_ready()
            return
        notifier.notify_ready()
        assembly.log.write_note("ready")

    limits = assembly.connection_limits()  # before descriptors run out

    async def serving() -> None:
        drain_timeout = duration_seconds(assembly.definition["drain_timeout"])
        server = Listener(assembly.app, limits, drain_timeout, sockets, load_tls)
        if part is not None:
            loop = asyncio.get_running_loop()
            part.on_supervisor_exit(lambda: loop.call_soon_threadsafe(server.stop_serving))
        await server.serve_until_stopped(assembly.make_services(), ready)

    try:
        run_server(serving())
    finally:
        end_at_once()


# `webhook listen`: serve until told to stop.


def listen_for_events(context: Context, values: ParameterValues) -> None:
    if values.get("ui") and workers_of(values.get("workers")) > 1:
        hint = "leave out --workers, or see the events of an inbox or a queue with `webhook inbox ui`"
        raise UsageError("--ui shows the deliveries of one process", hint=hint)
    in_processes(
        context,
        parse_served_address(values["addr"]),
        values.get("workers"),
        partial(_listen_in_process, context, values),
    )


def _listen_in_process(
    context: Context,
    values: ParameterValues,
    address: ListenAddress | None,
    part: WorkerAssignment | None,
    notifier: Notifier,
) -> None:
    from ...listener.assemble import Assembly
    from ..main import run_literally

    with line_writers(context, part, events=bool(values.get("log"))) as (err, out):
        load_tls = tls_loader(values)
        options = options_of(values, address)
        assembly = Assembly(context.catalog, options, dict(context.environ), err, out, run_literally, part)
        if assembly.recent is not None:
            from .inbox import InboxOnPage, page_server

            kept = InboxOnPage(context, values) if assembly.has_queue else None
            assembly.page = page_server(context, assembly.recent, kept)
        with opened_sockets(address, part) as sockets:
            if part is None or part.announces:
                with ignoring_lost_output():
                    _warn_unverified(context, assembly)
            withhold_secrets(assembly.context.hidden)
            announce = partial(_announce_addresses, context, assembly, sockets, load_tls is not None)
            serve_until_stopped(assembly, sockets, part, notifier, announce, load_tls)


def options_of(values: Mapping[str, Any], address: ListenAddress | None) -> ListenOptions:
    from ...listener.assemble import ListenOptions
    from ...listener.route_set import RouteSelection
    from ...listener.routes import split_commas

    refuse_empty(values, "inbox", "queue", "events", "public-url")
    for name in ("max-body", "max-in-flight"):
        if (size := values.get(name)) is not None and size < 1:
            raise UsageError(f"--{name}: expected a number of bytes above 0, not {size}")
    return ListenOptions(
        selection=RouteSelection(
            tuple(dict.fromkeys(values.get("source") or ())),
            tuple(split_commas(values.get("events") or ())),
            tuple(values.get("routes") or ()),
            tuple(values.get("handler") or ()),
            tuple(values.get("forward-to") or ()),
        ),
        secrets=values.get("secret") or (),
        secret_files=values.get("secret-file") or (),
        secret_names=values.get("secret-key") or (),
        key_set=values.get("jwks-url"),
        switches=frozenset(name for name, value in values.items() if value is True),
        inbox=values.get("inbox"),
        queue=_queue_to_fill(values),
        max_body=values.get("max-body"),
        max_in_flight=values.get("max-in-flight"),
        metrics=bool(values.get("metrics")),
        trusted=values.get("trust-proxy") or (),
        insecure=bool(values.get("insecure")),
        is_public=address is not None and address.is_public,
        public_url=public_url(values.get("public-url")),
        keeps_recent=bool(values.get("ui")),
    )


def public_url(text: str | None) -> str:
    """What senders call, up to the path. Raises `UsageError`."""
    from urllib.parse import urlsplit

    if not text:
        return ""
    refuse_login(text, "--public-url", "senders prove themselves by what the source's definition says")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(
            f"--public-url: {text!r} is not an http or https address", hint="like https://hooks.example.com"
        )
    return text.rstrip("/")


def _queue_to_fill(values: Mapping[str, Any]) -> str | None:
    """A listener with a queue only fills it."""
    url = values.get("queue")
    for name in ("inbox", "routes", "handler", "forward-to") if url else ():
        if values.get(name):
            hint = f"`webhook work --queue` takes --{name}" if name != "inbox" else None
            raise UsageError(f"--queue and --{name} cannot be used together", hint=hint)
    return url


def _announce_addresses(context: Context, assembly: Assembly, sockets: list[socket.socket], secure: bool) -> None:
    paths = [source.path for source in assembly.sources]
    for url in urls_of_sockets(sockets, "https" if secure else "http"):
        where = url if url.startswith("unix:") else "  ".join(url + path for path in paths)
        context.note(f"listening on {where}")
    if assembly.page is not None:
        context.note(f"page: {assembly.page.address}")


def _warn_unverified(context: Context, assembly: Assembly) -> None:
    if assembly.unverified:
        is_public = assembly.options.is_public
        who = "anyone who can reach this host" if is_public else "any program on this host"
        text = f"{', '.join(assembly.unverified)}: nothing is verified, {who} can send events"
        context.say(f"warning: {text}" if is_public else f"note: {text}")


# `webhook work`: handle what listeners put into a queue, until told to stop.


WORK = ("routes", "handler", "forward-to")
_NEED_ADDRESS = {
    "metrics": "serves health and metrics at that port",
    "tls-cert": "serves health at that port",
    "tls-key": "serves health at that port",
}


def work_on_queue(context: Context, values: ParameterValues) -> None:

    url = _queue_to_work_on(context, values)
    address = parse_served_address(values["addr"]) if values.get("addr") else None
    for name, example in _NEED_ADDRESS.items():
        if address is None and values.get(name):
            raise UsageError(f"--{name} needs --addr", hint=f"--addr :9090 {example}")
    in_processes(context, address, values.get("workers"), partial(_work_in_process, context, values, url))


def _work_in_process(
    context: Context,
    values: ParameterValues,
    url: str,
    address: ListenAddress | None,
    part: WorkerAssignment | None,
    notifier: Notifier,
) -> None:
    from ...listener.assemble import Assembly
    from ..main import run_literally

    # No event is received here, so there is nothing to prove.
    asked = options_of({**values, "queue": None, "insecure": True}, address)
    options = asked._replace(queue=url, works=True)
    with line_writers(context, part) as (err, _):
        load_tls = tls_loader(values)
        assembly = Assembly(context.catalog, options, dict(context.environ), err, None, run_literally, part)
        with opened_sockets(address, part) as sockets:
            withhold_secrets(assembly.context.hidden)
            announce = partial(_announce_pages, context, assembly, sockets, "https" if load_tls else "http")
            serve_until_stopped(assembly, sockets, part, notifier, announce, load_tls)


def _queue_to_work_on(context: Context, values: ParameterValues) -> str:
    prefix = context.definition["prefix"]
    refuse_empty(values, "queue")
    url: str | None = values.get("queue") or context.environ.get(f"{prefix}_QUEUE")
    if not url:
        raise UsageError("no queue was given", hint=f"give --queue URL, or set {prefix}_QUEUE")
    if not any(values.get(name) for name in WORK) and not context.catalog.routes.ids():
        raise UsageError("nothing to do with the events", hint="give --routes FILE, --handler CMD or --forward-to URL")
    return url


def _announce_pages(context: Context, assembly: Assembly, sockets: list[socket.socket], scheme: str) -> None:

    for url in urls_of_sockets(sockets, scheme):
        pages = sorted(assembly.app.pages)
        context.note(f"serving {url if url.startswith('unix:') else '  '.join(url + page for page in pages)}")
