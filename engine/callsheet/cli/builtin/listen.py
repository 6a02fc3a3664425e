"""`webhook listen`: serve until told to stop."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...commands.context import Context, ParameterValues
from ...errors import UsageError
from ...listener.server.bind import ListenAddress, parse_served_address, urls
from .auth import refuse_empty
from .serving import in_processes, opened, serve, tls_loader, unheard, withhold, workers_of, writers

if TYPE_CHECKING:
    from ...listener.assemble import Assembly, ListenOptions
    from ...listener.server.service_manager import Notifier
    from ...listener.workers.assignment import WorkerAssignment


def listen(context: Context, values: ParameterValues) -> None:
    if values.get("ui") and workers_of(values.get("workers")) > 1:
        hint = "leave out --workers, or see the events of an inbox or a queue with `webhook inbox ui`"
        raise UsageError("--ui shows the deliveries of one process", hint=hint)
    in_processes(
        context, parse_served_address(values["addr"]), values.get("workers"), partial(_listen, context, values)
    )


def _listen(
    context: Context,
    values: ParameterValues,
    address: ListenAddress | None,
    part: WorkerAssignment | None,
    notifier: Notifier,
) -> None:
    from ...listener.assemble import Assembly
    from ..main import run_literally

    with writers(context, part, events=bool(values.get("log"))) as (err, out):
        load_tls = tls_loader(values)
        options = options_of(values, address)
        assembly = Assembly(context.catalog, options, dict(context.environ), err, out, run_literally, part)
        if assembly.recent is not None:
            from .page import InboxOnPage, page_server

            kept = InboxOnPage(context, values) if assembly.has_queue else None
            assembly.page = page_server(context, assembly.recent, kept)
        with opened(address, part) as sockets:
            if part is None or part.announces:
                with unheard():
                    _warn(context, assembly)
            withhold(assembly.context.hidden)
            announce = partial(_announce, context, assembly, sockets, load_tls is not None)
            serve(assembly, sockets, part, notifier, announce, load_tls)


def options_of(values: Mapping[str, Any], address: ListenAddress | None) -> ListenOptions:
    from ...listener.assemble import ListenOptions
    from ...listener.routing.route import split_commas
    from ...listener.routing.route_set import RouteSelection

    refuse_empty(values, "inbox", "queue", "events", "public-url")
    for name in ("max-body", "max-in-flight"):
        if (size := values.get(name)) is not None and size < 1:
            raise UsageError(f"--{name}: {size} is not a valid size")
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
        queue=_queue(values),
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
            hint = f"`webhook work --queue` takes --{name}" if name != "inbox" else None
            raise UsageError(f"--queue and --{name} cannot be used together", hint=hint)
    return url


def _announce(context: Context, assembly: Assembly, sockets: list[socket.socket], secure: bool) -> None:
    paths = [source.path for source in assembly.sources]
    for url in urls(sockets, "https" if secure else "http"):
        where = url if url.startswith("unix:") else "  ".join(url + path for path in paths)
        context.note(f"listening on {where}")
    if assembly.page is not None:
        context.note(f"page: {assembly.page.address}")


def _warn(context: Context, assembly: Assembly) -> None:
    if assembly.unverified:
        is_public = assembly.options.is_public
        who = "anyone who can reach this host" if is_public else "any program on this host"
        text = f"{', '.join(assembly.unverified)}: nothing is verified, {who} can send events"
        context.say(f"warning: {text}" if is_public else f"note: {text}")
