"""`webhook listen`: serve until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable, Collection, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...commands.context import Context
from ...errors import UsageError
from ...listener.server.bind import ListenAddress, bind, parse_address, urls

if TYPE_CHECKING:
    from ...listener.assemble import Assembly, ListenOptions
    from ...listener.telemetry.line_writer import LineWriter
    from ...listener.workers.assignment import Assignment

MOST_WORKERS = 256


def listen(context: Context, values: dict[str, Any]) -> None:
    from ...listener.workers.assignment import take_assignment

    address = parse_address(values["addr"])
    count = workers_of(values.get("workers"))
    environ = context.environ
    part = take_assignment(environ) if isinstance(environ, MutableMapping) else None
    if part is None and count > 1:
        _supervise(context, address, count)
        return
    err, out = _writers(context, part, events=bool(values.get("log")))
    try:
        _listen(context, values, address, part, err, out)
    finally:
        err.close()
        if out is not None:
            out.close()


def _listen(
    context: Context,
    values: dict[str, Any],
    address: ListenAddress,
    part: Assignment | None,
    err: LineWriter,
    out: LineWriter | None,
) -> None:
    from ...listener.assemble import Assembly
    from ..main import run_literally

    load_tls = tls_loader(values)
    if load_tls:
        load_tls()
    options = options_of(values, address)
    assembly = Assembly(context.catalog, options, dict(context.environ), err, out, run_literally, part)
    sockets = bind(address) if part is None else part.open_sockets()
    try:
        if part is None or part.announces:
            _announce(context, assembly, address, sockets, load_tls is not None)
        withhold(assembly.context.hidden)
        _serve(assembly, sockets, load_tls, part)
    finally:
        for opened in sockets:
            opened.close()
        if address.path and part is None:
            with contextlib.suppress(OSError):
                os.remove(address.path)


def workers_of(text: str | None) -> int:
    """How many processes `--workers` asks for. Raises `UsageError`."""
    from ...listener.workers.assignment import usable_cores

    if text is None or text == "auto":
        return 1 if text is None else usable_cores()
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_WORKERS):
        raise UsageError(f"--workers: {text!r} is not a number from 1 to {MOST_WORKERS}, or auto")
    return int(text)


def _supervise(context: Context, address: ListenAddress, count: int) -> None:
    if os.name != "posix":
        raise UsageError("--workers: this system has no way to share a port", hint="start one listener")
    from ...listener.server.bind import bind_for_workers
    from ...listener.workers.supervisor import Supervisor

    sockets = bind_for_workers(address)
    try:
        code = Supervisor(count, sockets, context.note).run()
    finally:
        for opened in sockets:
            opened.close()
        if address.path:
            with contextlib.suppress(OSError):
                os.remove(address.path)
    if code:
        raise SystemExit(code)  # the first worker has said what is wrong


def _writers(context: Context, part: Assignment | None, *, events: bool) -> tuple[LineWriter, LineWriter | None]:
    from ...listener.telemetry.line_writer import LineWriter

    lock = part.log_lock if part is not None else None
    missing = "{} lines of this log could not be written".format
    err = LineWriter(context.streams.err, missing, lock=lock)
    return err, LineWriter(context.streams.out, lock=lock) if events else None


def options_of(values: Mapping[str, Any], address: ListenAddress) -> ListenOptions:
    from ...listener.assemble import ListenOptions
    from ...listener.routing.route import split_words
    from ...listener.routing.route_set import Selection

    max_body = values.get("max-body")
    if max_body is not None and max_body < 1:
        raise UsageError(f"--max-body: {max_body} is not a valid size")
    return ListenOptions(
        wanted=Selection(
            tuple(dict.fromkeys(values.get("source") or ())),
            tuple(split_words(values.get("events") or ())),
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
        queue=_queue(values),
        max_body=max_body,
        metrics=bool(values.get("metrics")),
        trusted=values.get("trust-proxy") or (),
        insecure=bool(values.get("insecure")),
        is_public=address.is_public,
        public_url=public_url(values.get("public-url")),
    )


def public_url(text: str | None) -> str:
    """What senders call, up to the path. Raises `UsageError`."""
    from urllib.parse import urlsplit

    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(
            f"--public-url: {text!r} is not an http or https address", hint="like https://hooks.example.com"
        )
    return text.rstrip("/")


def _queue(values: Mapping[str, Any]) -> str | None:
    """A listener with a queue only fills it."""
    url = values.get("queue")
    for name in ("inbox", "routes", "handler", "forward-to") if url else ():
        if values.get(name):
            hint = f"`webhook work --queue` takes --{name}" if name in ("routes", "handler") else None
            raise UsageError(f"--queue and --{name} exclude each other", hint=hint)
    return url


def tls_loader(values: Mapping[str, Any]) -> Callable[[], ssl.SSLContext] | None:
    """What reads the certificate, if https is asked for."""
    certificate, key = values.get("tls-cert"), values.get("tls-key")
    if certificate is None:
        if key is not None:
            raise UsageError("--tls-key needs --tls-cert")
        return None
    from ...listener.server.tls import tls_context

    return partial(tls_context, certificate, key)


def _announce(
    context: Context, assembly: Assembly, address: ListenAddress, sockets: list[socket.socket], secure: bool
) -> None:
    paths = [source.path for source in assembly.sources]
    for url in urls(sockets, "https" if secure else "http"):
        where = url if url.startswith("unix:") else "  ".join(url + path for path in paths)
        context.note(f"listening on {where}")
    if assembly.unverified:
        who = "anyone who can reach this host" if address.is_public else "any program on this host"
        text = f"{', '.join(assembly.unverified)}: nothing is verified, {who} can send events"
        context.say(f"warning: {text}" if address.is_public else f"note: {text}")


def withhold(names: Collection[str]) -> None:
    """Take secrets, which were read by now, out of the environment that functions and what they start would see."""
    for name in names:
        os.environ.pop(name, None)


def _serve(
    assembly: Assembly,
    sockets: list[socket.socket],
    load_tls: Callable[[], ssl.SSLContext] | None,
    part: Assignment | None,
) -> None:
    from ...durations import seconds
    from ...listener.server.server import Listener, run

    async def serve() -> None:
        drain_time = seconds(assembly.definition["drain_time"])
        server = Listener(assembly.app, assembly.limits(), drain_time, sockets, load_tls)
        if part is not None:
            loop = asyncio.get_running_loop()
            part.when_supervisor_ends(lambda: loop.call_soon_threadsafe(server.stop))
        await server.serve(assembly.services(), part.tell_ready if part else lambda: assembly.log.note("ready"))

    run(serve())
