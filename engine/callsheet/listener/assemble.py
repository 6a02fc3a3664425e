"""From options and definitions to a listener that can be served."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..durations import duration_seconds
from ..errors import CallsheetError, count_of
from .asyncio_helpers import Repeated, cancel_all
from .byte_budget import budget_of
from .dispatcher import Runner, SynchronousDispatcher
from .event_table import EventTable
from .handlers import HandlerContext, RunCommand
from .handlers.concurrency_limits import ConcurrencyLimit
from .handlers.target import RetrySchedule
from .machine_limits import connection_limits
from .recent_deliveries import RecentDeliveries
from .route_set import (
    OverdueRuns,
    RouteSelection,
    RouteSet,
    check_order,
    check_replies,
    doubts_of_handlers,
    read_routes,
)
from .server import responses
from .server.application import App, ClientAddresses, Page, Scope
from .server.http_protocol import Limits
from .server.server_process import Services
from .telemetry.log import LineWriter, Log
from .telemetry.metrics import Metrics
from .telemetry.traces import delivery_spans
from .verify.payload import Rejected
from .verify.proof_kinds import variables_of
from .verify.source import ProofSettings, Source, check_proofs
from .worker_process import Team

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from .page.page_server import PageServer
    from .queue.queue_port import Queue
    from .queue.queue_worker import Intake, Worker
    from .queue.sqlite.file_queue import Sharing
    from .worker_process import WorkerAssignment


# Those of every program: they open all that is kept for it.
_PASSWORDS = ("_KEYRING_PASSWORD", "_KEYRING_PASSWORD_FILE", "_QUEUE_CREDENTIALS", "_QUEUE_CREDENTIALS_FILE")


class ListenOptions(NamedTuple):
    """The options of one run. `is_public` tells whether others than this host can connect."""

    selection: RouteSelection
    secrets: Sequence[str]
    secret_files: Sequence[str]
    secret_names: Sequence[str]
    key_set: str | None
    switches: frozenset[str]
    inbox: str | None
    max_body: int | None
    max_in_flight: int | None
    metrics: bool
    trusted: Sequence[str]
    insecure: bool
    is_public: bool
    queue: str | None = None
    public_url: str = ""  # what senders call, without a path
    works: bool = False  # on what others put into the queue
    keeps_recent: bool = False  # deliveries, to show them


class Assembly:
    """Everything one listener consists of, and its life beside the server."""

    def __init__(
        self,
        catalog: Catalog,
        options: ListenOptions,
        environ: Mapping[str, str],
        err: LineWriter,
        out: LineWriter | None,
        run_command: RunCommand,
        assignment: WorkerAssignment | None = None,
    ) -> None:
        self.catalog = catalog
        self.options = options
        self.environ = environ
        self.prefix: str = catalog.programs.get(catalog.program)["prefix"]
        self.definition = next(iter(catalog.listeners.all().values()))
        self.log = Log(err, out)
        self.recent = RecentDeliveries() if options.keeps_recent else None
        self.metrics = Metrics()
        self.team = Team(assignment, self.metrics) if assignment is not None else None
        self.closers: list[Callable[[], Any]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.retired: list[RouteSet] = []
        self.reloads = Repeated(self._read_again)
        self.proofs = ProofSettings(catalog, environ, self.prefix, self.log.write_note, is_shared=self.team is not None)
        self.sources = [self._make_source(index, name) for index, name in enumerate(options.selection.sources)]
        self.unverified = check_proofs(self.sources, insecure=options.insecure, is_public=options.is_public)
        self.max_body = options.max_body or self.definition["max_body"]
        self.budget = budget_of(
            options.max_in_flight or self.definition.get("max_in_flight"),
            self.max_body,
            1 if assignment is None else assignment.workers,
        )
        timeout = duration_seconds(self.definition["timeout"])
        report = self.log.write_note if self.recent is None else self.recent.watched_report(self.log.write_note)
        processes = 1 if assignment is None else assignment.workers
        self.context = HandlerContext(
            "", environ, self._secret_variables(), report, timeout, run_command, processes=processes
        )
        self.sharing: Sharing | None = None
        self.schedule = RetrySchedule().changed_by(cast("Mapping[str, Any]", self.definition))
        self.route_set = self._read_routes(catalog)
        self.concurrency = ConcurrencyLimit(
            self.definition["concurrency"],
            None if self.has_queue else self.definition["queue_size"],
            is_shared=self.has_queue and len(self.route_set.jobs) > 1,
        )
        restart = partial(signal.raise_signal, signal.SIGTERM) if assignment is not None else None
        self.overdue = OverdueRuns(lambda: self.route_set, self.log.write_note, restart)
        self.page: PageServer | None = None
        self.inbox: Queue | None = None
        self.worker: Worker | None = None
        self.app = self._make_app()

    def _read_routes(self, catalog: Catalog) -> RouteSet:
        route_set = read_routes(catalog, self.options.selection, self.context)
        workers = 1 if self.team is None else self.team.assignment.workers
        check_order(route_set, workers, shares_queue=self.options.works)
        check_replies(route_set, keeps_events=self.has_queue)
        if self.options.inbox:
            self._claim_inbox(self.options.inbox, alone=bool(route_set.ordered_routes))
        return route_set

    def _claim_inbox(self, path: str, *, alone: bool) -> None:
        if self.sharing is None:
            from .queue.sqlite.file_queue import Sharing

            self.sharing = Sharing(path)
            self.closers.append(self.sharing.close)
        self.sharing.claim_file(alone=alone)

    def _make_source(self, index: int, name: str) -> Source:
        """Options about secrets and key sets are for the first source; the others have what their definitions say."""
        options = self.options
        secrets_given = (options.secrets, options.secret_files, options.secret_names) if index == 0 else ((), (), ())
        chosen = options.key_set if index == 0 else None
        keys, close = self.proofs.key_set(name, chosen, options.switches)
        if close is not None:
            self.closers.append(close)
        return self.proofs.make_source(name, secrets_given, keys, options.public_url, signs_nothing=options.works)

    def _secret_variables(self) -> frozenset[str]:
        """Variables with secrets, which no handler gets to see unless its route gives it one."""
        defined = (name for source in self.catalog.sources.all().values() for name in variables_of(source))
        passwords = (name for name in self.environ if name.endswith(_PASSWORDS))
        return frozenset((*defined, *passwords))

    def _make_app(self) -> App:
        self.runner = runner = Runner(
            self.concurrency,
            None if self.has_queue else duration_seconds(self.definition["queue_timeout"]),
            self.metrics.observe_handler,
            None if self.recent is None else self.recent.watch_run,
        )
        dispatcher = self._make_intake(runner) if self.has_queue else SynchronousDispatcher(self._event_table(), runner)
        received = [] if self.options.works else self.sources
        paths = {source.path: source for source in received}
        clients = ClientAddresses(self.options.trusted)
        table, pages = self.route_set.routing_table, self._make_pages()
        return App(paths, table, dispatcher, self.log, self.metrics, clients, pages, self.recent, delivery_spans())

    def _event_table(self) -> EventTable:
        size, window = self.definition["dedup_size"], duration_seconds(self.definition["dedup_window"])
        return EventTable(size, window) if self.team is None else self.team.event_table(size, window)

    @property
    def has_queue(self) -> bool:
        return bool(self.options.inbox or self.options.queue)

    def _open_queue(self) -> Queue:
        from .queue.queue_port import select_queue
        from .queue.sqlite.file_queue import FileQueue

        if self.options.queue:
            chosen = select_queue(self.options.queue, self.catalog, self.environ)
            return chosen.open_queue(self.log.write_note, consumes=self.options.works)
        window = duration_seconds(self.definition["dedup_window"])
        return FileQueue(str(self.options.inbox), window, self.log.write_note, self._longest_delay, self._target_names)

    def _target_names(self) -> list[str]:
        return [job.id for job in self.route_set.jobs]

    def _longest_delay(self) -> float:
        return max(
            self.schedule.changed_by(each).backoff_max
            for each in ({}, *(job.target.retry for job in self.route_set.jobs))
        )

    def _make_intake(self, runner: Runner) -> Intake:
        from .queue.queue_worker import Intake, Worker

        self.inbox = self._open_queue()
        self.closers.append(self.inbox.close)
        if self.options.inbox or self.options.works:
            by_name = {source.name: source for source in self.sources}
            self.worker = Worker(
                self.inbox, runner, by_name, lambda: self.app.routing_table, self.log, self.schedule, self.budget
            )
        return Intake(self.inbox, self.worker, duration_seconds(self.definition["put_timeout"]))

    def _make_pages(self) -> dict[str, Page]:
        paths = self.definition["paths"]
        pages: dict[str, Page] = {
            paths["health"]: lambda _: responses.HEALTHY,
            paths["ready"]: lambda _: responses.READY if self.is_ready() else responses.NOT_READY,
        }
        if self.options.metrics:
            self._start_metrics()
            pages[paths["metrics"]] = self._metrics_page if self.team is None else self._metrics_of_all
        return pages

    def is_ready(self) -> bool:
        kept = self.inbox is None or self.inbox.problem is None
        kept = kept and not (self.worker is not None and self.worker.cannot_save)
        started = self.team is None or self.team.has_started()
        proves = all(source.can_prove for source in self.app.sources.values())
        return kept and started and proves and not self.app.draining and not self.overdue.stuck_jobs()

    def _start_metrics(self) -> None:
        keyed = {source.name: source.keys for source in self.sources if source.keys is not None}
        readings = self.metrics.readings
        readings["handlers_running"] = ("Handlers running.", "", lambda: {"": self.concurrency.running})
        readings["handlers_waiting"] = ("Handlers waiting for their turn.", "", lambda: {"": self.runner.waiting_runs})
        readings["handlers_overdue"] = (
            "Handlers that exceeded their time and have not ended.", "handler", self.overdue.counts_by_job,
        )  # fmt: skip
        readings["circuits_open"] = ("Handlers that are left alone.", "handler", self._open_circuits)
        readings["bytes_in_flight"] = (
            "Bytes of memory that deliveries take.", "", lambda: {"": float(self.budget.in_flight())},
        )  # fmt: skip
        readings["log_lines_dropped_total"] = (
            "Lines a blocked log could not take.",
            "",
            lambda: {"": self.log.err.dropped},
        )
        readings["key_set_age_seconds"] = (
            "Age of the key set.", "source", lambda: {name: keys.age_of_keys for name, keys in keyed.items()},
        )  # fmt: skip
        readings["key_set_fetches_total"] = (
            "Fetches of the key set.", "source", lambda: {name: float(keys.fetches) for name, keys in keyed.items()},
        )  # fmt: skip
        readings["inbox_events"] = (
            "Events in the inbox.",
            "state",
            lambda: self.inbox.events_by_state() if self.inbox else {},
        )
        self.metrics.largest.add("key_set_age_seconds")
        self.metrics.shared.add("inbox_events")
        self.metrics.start_registry()

    def _open_circuits(self) -> dict[str, float]:
        circuits = ((job.id, job.target.circuit) for job in self.route_set.jobs)
        return {job: 1.0 for job, circuit in circuits if circuit is not None and circuit.is_open}

    def _metrics_page(self, scope: Scope) -> responses.Response:
        page, content_type = self.metrics.metrics_page(_accepted_types(scope))
        return responses.make_response(200, page, ((b"content-type", content_type.encode()),))

    async def _metrics_of_all(self, scope: Scope) -> responses.Response:
        assert self.team is not None  # noqa: S101 - this page is served by workers only
        page, content_type = await self.team.metrics_page(_accepted_types(scope))
        return responses.make_response(200, page, ((b"content-type", content_type.encode()),))

    def connection_limits(self) -> Limits:
        definition = self.definition
        limits = connection_limits(definition["max_connections"], definition["concurrency"])
        if limits.limit is not None:
            self.log.write_note(
                f"{limits.limit} open files are allowed (ulimit -n), which leaves room for"
                f" {count_of(limits.connections, 'connection')} instead of {definition['max_connections']}"
            )
        return Limits(
            self.max_body,
            definition["max_header"],
            limits.connections,
            limits.spare,
            duration_seconds(definition["header_timeout"]),
            duration_seconds(definition["body_timeout"]),
            duration_seconds(definition["idle_timeout"]),
            self._on_refused,
            self.app.respond_at_once,
            self.budget,
        )

    def _on_refused(self, status: int, word: str, client: str) -> None:
        self.metrics.rejected[word] += 1
        self.log.log_rejection(status, word, client, word.replace("_", " "))
        if self.recent is not None:
            self.recent.add_refused(None, Rejected(status, word, word.replace("_", " ")), client, (), b"", b"")

    def make_services(self) -> Services:
        return Services(
            self._start,
            self._stop_fetching,
            self._is_idle,
            self._shutdown,
            self.reloads.ask_once_more,
            self.log.write_note,
        )

    async def _start(self) -> None:
        if self.team is not None:
            await self.team.start()
        for source in self.sources:
            if source.keys is not None:
                self.tasks.append(asyncio.create_task(source.keys.keep_fresh()))
        if self.inbox is not None:
            await self.inbox.open()
        if self.worker is not None:
            await self.worker.start()
        self.tasks.append(asyncio.create_task(self.overdue.watch_runs()))
        self._tell_doubts()
        if self.page is not None:
            await self.page.start()

    def _tell_doubts(self) -> None:
        """What is allowed and may go wrong, such as a program that is not there yet: of several processes one tells."""
        for text in doubts_of_handlers(self.route_set) if self.team is None or self.team.assignment.announces else ():
            self.log.write_note(f"warning: {text}")

    def _stop_fetching(self) -> None:
        if self.worker is not None:
            self.worker.stop_fetching()

    def _is_idle(self) -> bool:
        return self.worker is None or self.worker.is_idle

    async def _shutdown(self) -> None:
        if self.page is not None:
            await self.page.close()
        if self.team is not None:
            self.team.close()
        await cancel_all([*self.tasks, *self.reloads.tasks])
        if self.worker is not None:
            await self.worker.shutdown()
        for route_set in (*self.retired, self.route_set):
            await close_handlers(route_set)
        for close in self.closers:
            result = close()
            if asyncio.iscoroutine(result):
                await result

    async def _read_again(self) -> None:
        """A broken file changes nothing."""
        from ..catalog.catalog import Catalog

        try:
            catalog = await asyncio.to_thread(Catalog, self.catalog.program, self.environ)
            with contextlib.closing(catalog):
                route_set = await asyncio.to_thread(self._read_routes, catalog)
        except CallsheetError as error:
            self.log.write_note(
                f"routes not reloaded, keeping the old ones: {'; '.join((error.message, *error.details))}"
            )
            return
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            self.log.write_note(f"routes not reloaded, keeping the old ones: {type(error).__name__}: {error}")
            return
        self.retired.append(self.route_set)  # their handlers may still be running
        self.route_set, self.app.routing_table = route_set, route_set.routing_table
        self.concurrency.is_shared = self.has_queue and len(route_set.jobs) > 1
        self.log.write_note(f"routes reloaded: {len(route_set.routes)}")
        self._tell_doubts()


def _accepted_types(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")


async def close_handlers(route_set: RouteSet) -> None:
    for job in route_set.jobs:
        await job.handler.close()
