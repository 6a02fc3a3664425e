"""`webhook`: checks of a listener from outside, and the secrets of sources."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ...commands.checkup import Row, Status, failed_row, guarded_rows
from ...commands.context import Context, ParameterValues
from ...durations import DAY, duration_seconds
from ...errors import CallsheetError, UsageError, count_of, name_program
from ...files import open_regular
from ...listener.server.listening_sockets import ListenAddress, bind_sockets, parse_served_address, urls_of_sockets
from ...listener.verify.secret_options import NamedSecrets
from ...output.clean_text import one_line
from .auth import refuse_empty
from .listen import options_of, tls_loader, workers_of

if TYPE_CHECKING:
    from ...listener.assemble import Assembly
    from ...listener.verify.source import Source


# `webhook check --listen`: what `webhook listen` with the same options would serve, verify and refuse.


DEFAULT_ADDRESS = ":8080"
SOON = 14 * DAY


def check_listener(context: Context, values: ParameterValues) -> None:
    """Raises `CallsheetError` where something would not work."""
    rows = [row._replace(remedy=name_program(row.remedy, context.program)) for row in _listener_rows(context, values)]
    context.output(context.catalog.views.get("check")).print_items([row._asdict() for row in rows])
    failures = [row.check for row in rows if row.status == "fail"]
    if failures:
        raise CallsheetError(f"{len(failures)} of {len(rows)} checks failed: {', '.join(failures)}")


def _listener_rows(context: Context, values: ParameterValues) -> Iterator[Row]:
    yield from guarded_rows("address", lambda: _address_rows(values))
    yield from guarded_rows("workers", lambda: _worker_rows(values.get("workers")))
    yield from guarded_rows("certificate", lambda: _certificate_rows(values))
    yield from guarded_rows("inbox", lambda: _inbox_rows(values.get("inbox"), values.get("queue")))
    try:
        made = _open_assembly(context, values)
    except CallsheetError as error:
        yield failed_row("sources and routes", error)
        return
    keeps_events = bool(values.get("inbox") or values.get("queue"))
    with made as assembly:
        for source in assembly.sources:
            yield from guarded_rows(source.name, partial(_source_rows, source, assembly))
        yield from guarded_rows("routes", lambda: _route_rows(assembly))
        yield from guarded_rows("replies", lambda: _reply_rows(assembly, keeps_events=keeps_events))
        yield from guarded_rows("order", lambda: _order_rows(assembly, values.get("workers")))
        yield from guarded_rows("limits", lambda: _limit_rows(assembly))


def _address_rows(values: ParameterValues) -> Iterator[Row]:
    address = parse_served_address(values.get("addr") or DEFAULT_ADDRESS)
    if address.is_passed:
        yield Row("address", "skip", "the service manager passes it when it starts the listener")
        return
    sockets = bind_sockets(address)
    try:
        found = ", ".join(urls_of_sockets(sockets, "https" if values.get("tls-cert") else "http"))
    finally:
        for opened in sockets:
            opened.close()
        if address.path:
            os.remove(address.path)
    yield Row("address", "ok", f"{found}: free, for {'anyone' if address.is_public else 'this host only'}")


def _worker_rows(asked: str | None) -> Iterator[Row]:
    count = workers_of(asked)
    yield Row("workers", "ok", f"{count} process{'es' if count > 1 else ''}")


def _certificate_rows(values: ParameterValues) -> Iterator[Row]:
    if tls_loader(values) is None:
        yield Row("certificate", "skip", "served without TLS")
        return
    yield _certificate_validity(values["tls-cert"])


def _certificate_validity(path: str) -> Row:
    from datetime import UTC, datetime

    from cryptography.x509 import load_pem_x509_certificates

    with open_regular(path) as file:
        until = load_pem_x509_certificates(file.read())[0].not_valid_after_utc
    left = (until - datetime.now(UTC)).total_seconds()
    status: Status = "fail" if left < 0 else "warn" if left < SOON else "ok"
    remedy = "renew it; SIGHUP makes a listener read it again" if status != "ok" else ""
    return Row("certificate", status, f"{path}: valid until {until:%Y-%m-%d %H:%M} UTC", remedy)


def _inbox_rows(path: str | None, queue: str | None) -> Iterator[Row]:
    if path is None:
        where = "events go into the queue" if queue else "events are handled while their sender waits"
        yield Row("inbox", "skip", where)
    elif not os.path.exists(path):
        writable = os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)
        yield Row(
            "inbox",
            "ok" if writable else "fail",
            f"{path}: " + ("will be created" if writable else "cannot be created"),
        )
    else:
        yield _existing_inbox(path)


def _existing_inbox(path: str) -> Row:
    from ...listener.queue.sqlite.inbox_file import check_is_inbox

    try:
        check_is_inbox(path, allow_new=True)
    except OSError as error:
        return Row("inbox", "fail", f"{path}: {error.strerror or error}")
    if not os.access(path, os.W_OK):
        return Row("inbox", "fail", f"{path}: cannot be written")
    return Row("inbox", "ok", f"{path}: exists, {os.path.getsize(path)} bytes")


@contextlib.contextmanager
def _temporary_assembly(assembly: Assembly, log: Any) -> Iterator[Assembly]:
    try:
        yield assembly
    finally:
        asyncio.run(_shut_down(assembly))
        log.close()


async def _shut_down(assembly: Assembly) -> None:
    await assembly.make_services().shutdown()


def _open_assembly(context: Context, values: ParameterValues) -> contextlib.AbstractContextManager[Assembly]:
    """As `listen` makes it, but for the inbox, which would be a file."""
    from ...listener.assemble import Assembly
    from ...listener.telemetry.log import LineWriter
    from ..main import run_literally

    try:
        address = parse_served_address(values.get("addr") or DEFAULT_ADDRESS)
    except CallsheetError:  # told in a row of its own
        address = ListenAddress()
    options = options_of(values, address)._replace(inbox=None)
    log = LineWriter(io.StringIO())
    try:
        assembly = Assembly(context.catalog, options, dict(context.environ), log, None, run_literally)
    except BaseException:
        log.close()
        raise
    return _temporary_assembly(assembly, log)


def _source_rows(source: Source, assembly: Assembly) -> Iterator[Row]:
    ways = []
    if source.proof is not None:
        ways.append(source.proof.summary)
    if source.keys is not None:
        ways.append(f"signed tokens ({', '.join(sorted(source.keys.algorithms))})")
    elif source.tokens is not None:
        ways.append("signed tokens by a shared secret")
    where = f"POST {source.path}"
    if not ways:
        who = "anyone who can reach this host" if assembly.options.is_public else "any program on this host"
        yield Row(
            source.name, "warn", f"{where}: nothing is verified, {who} can send events", "give a secret or a key set"
        )
        return
    text = f"{where}: verified by {' or '.join(ways)}"
    if not source.id_is_signed:
        text += "; the id is not signed, so the body tells events apart"
    yield Row(source.name, "ok", text)
    if source.keys is not None:
        yield _key_set(source)


def _key_set(source: Source) -> Row:
    keys = source.keys
    if keys is None:
        return Row(f"{source.name} keys", "skip", "no tokens are taken")
    asyncio.run(keys.fetch_now())
    if keys.failures:
        return Row(f"{source.name} keys", "fail", f"key set: {keys.problem}", "no token can be proved until it answers")
    return Row(f"{source.name} keys", "ok", f"keys {', '.join(keys.key_ids)}")


def _route_rows(assembly: Assembly) -> Iterator[Row]:
    from ...listener.route_set import doubts_of_handlers, warnings_of_routes

    rules, only = assembly.route_set, assembly.options.selection.events
    taken = f"only {', '.join(only)}" if only else count_of(len(rules.types), "type")
    yield Row("events", "ok", f"handled: {taken}; others are answered 200 and counted")
    for route in rules.routes:
        kinds = ", ".join(job.handler.kind for job in route.jobs)
        yield Row("route", "ok", f"{route.name}: {', '.join(route.definition.get('on', ['*']))} to {kinds}")
    for text in warnings_of_routes(rules, only):
        yield Row("route", "warn", text, "see the condition and `on`")
    for text in doubts_of_handlers(rules):
        yield Row("handler", "warn", text)


def _reply_rows(assembly: Assembly, *, keeps_events: bool) -> Iterator[Row]:
    from ...listener.route_set import check_replies

    check_replies(assembly.route_set, keeps_events=keeps_events)
    for route in assembly.route_set.routes:
        if "reply" in route.definition:
            yield Row("replies", "ok", f"{route.name}: answers its deliveries")


def _order_rows(assembly: Assembly, workers: str | None) -> Iterator[Row]:
    from ...listener.route_set import check_order

    check_order(assembly.route_set, workers_of(workers), shares_queue=False)
    if assembly.route_set.ordered_routes:
        yield Row("order", "ok", f"{', '.join(assembly.route_set.ordered_routes)}: one by one, by this process alone")


def _limit_rows(assembly: Assembly) -> Iterator[Row]:
    limits = assembly.connection_limits()
    yield Row(
        "limits",
        "ok",
        f"refused: bodies over {limits.max_body} bytes (413), what does not fit into {limits.budget.size} bytes of"
        f" memory (503), headers over {limits.max_header} (431), more than"
        f" {limits.connections} connections (503), headers after {limits.header_timeout:g} s and bodies after"
        f" {limits.body_timeout:g} s (408), encoded bodies (415)",
    )


# `webhook check`: whether sources and routes can be used, and which routes can never match.


OWN = ("routes", "source", "events", "queue")


def check_webhooks(context: Context, values: ParameterValues) -> None:
    """Everything a listener would do before it listens, but for the address; with `--listen` that too."""
    refuse_empty(values, "inbox", "queue", "events", "public-url")
    if values.get("listen"):
        check_listener(context, values)
        for text in _check_queue(context, values):
            context.say(f"warning: {text}")
        return
    _refuse_options_of_listen(values)
    from ...listener.assemble import close_handlers
    from ...listener.handlers import HandlerContext
    from ...listener.route_set import RouteSelection, check_order, check_replies, read_routes, warnings_of_handlers
    from ...listener.routes import split_commas
    from ...listener.source_trials import trial_findings
    from ...listener.verify.source import Source
    from ..main import run_literally

    sources = {name: context.catalog.sources.get(name) for name in values["source"]}
    for name, definition in sources.items():
        Source(name, definition)
    selection = RouteSelection(
        tuple(values["source"]), tuple(split_commas(values["events"] or ())), tuple(values["routes"] or ()), ()
    )
    listener = next(iter(context.catalog.listeners.all().values()))
    timeout = duration_seconds(listener["timeout"])
    handler_context = HandlerContext("", context.environ, frozenset(), context.note, timeout, run_literally)
    rules = read_routes(context.catalog, selection, handler_context)
    asyncio.run(close_handlers(rules))
    check_order(rules, 1, shares_queue=values.get("queue") is not None)
    check_replies(rules, keeps_events=values.get("queue") is not None)
    events = context.catalog.events.all()
    found = [
        f'source "{name}": {" ".join(map(str, (*finding.path, finding.text)))}'
        for name, definition in sources.items()
        for finding in trial_findings(name, definition, events)
    ]
    found += warnings_of_handlers(rules, selection.events)
    found += _check_queue(context, values)
    for text in found:
        context.say(f"warning: {text}")
    summary = ", ".join(
        count_of(count, word)
        for count, word in (
            (len(values["source"]), "source"),
            (len(rules.types), "event type"),
            (len(rules.routes), "route"),
        )
    )
    context.streams.out.write(
        f"{summary}, {count_of(len(found), 'warning')}\n" if found else f"{summary}, no problems\n"
    )


def _refuse_options_of_listen(values: ParameterValues) -> None:
    for name, value in values.items():
        if name not in OWN and value not in (None, False, [], ()):
            raise UsageError(f"--{name} needs --listen")


def _check_queue(context: Context, values: ParameterValues) -> list[str]:
    """Say what a queue's settings mean; returns what to be warned of. Settings that lose events are an error."""
    if values.get("queue") is None:
        return []
    from ...listener.queue.queue_port import select_queue

    found = select_queue(values["queue"], context.catalog, context.environ).read_guarantees(context.note)
    for fact in found.facts:
        context.note(one_line(fact))
    warnings = [one_line(text) for text in (*found.warnings, *_repeated_too_late(context, values, found.window))]
    if found.losses:
        for text in warnings:
            context.say(f"warning: {text}")
        raise CallsheetError("the queue can lose events", details=[one_line(text) for text in found.losses])
    return warnings


def _repeated_too_late(context: Context, values: ParameterValues, window: float) -> Iterator[str]:

    for name in values["source"]:
        retry_window = context.catalog.sources.get(name).get("retry_window")
        if retry_window is not None and duration_seconds(retry_window) > window:
            yield f"{name} repeats a delivery for {retry_window}, and after {window:g} s such a one is handled again"


# `webhook secret set|delete`: secrets for `--secret-key`.


def set_webhook_secret(context: Context, values: ParameterValues) -> None:
    from ...listener.verify.proofs import check_secret

    secret = context.ask("Secret", hidden=True) if context.streams.input.isatty() else _read_line(context)
    check_secret(secret)
    secrets = _named_secrets(context)
    secrets.put_secret(values["name"], secret)
    context.note(f"{values['name']} is in {secrets.location}: webhook listen --secret-key {values['name']}")


def delete_webhook_secret(context: Context, values: ParameterValues) -> None:
    _named_secrets(context).delete_secret(values["name"])


def _named_secrets(context: Context) -> NamedSecrets:
    return NamedSecrets(context.definition["prefix"], context.environ, context.program)


def _read_line(context: Context) -> str:
    """One line of standard input; its end is not part of the secret."""
    try:
        text = context.read_input().decode()
    except UnicodeDecodeError:
        raise UsageError("the secret is not valid UTF-8") from None
    lines = text.splitlines()
    if len(lines) > 1:
        raise UsageError("standard input holds several lines", hint="keep each secret under a name of its own")
    return lines[0] if lines else ""
