"""Watching things: what a mirror finds new or different is told as an event, once, whatever stops the run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CallsheetError
from ...files import locked_file, make_private_directory
from ...jsontext import dump_json, parse_json
from ...paths import state_directory
from ..steps.dispatcher import StepDispatcher
from .mirror_file import MirrorFile
from .sync import Mirror, ThingChange

if TYPE_CHECKING:
    from ..context import Context

_WATCHED = "watched"  # the part that is noted once all that was there at first has been read
_LOCK_PATIENCE = 0.0
ReportEvent = Callable[[dict[str, Any]], None]


class Watched(NamedTuple):
    """What is watched, as `Mirror` takes it; `reader` is what tells two that watch the same things apart."""

    resource: str
    within: Mapping[str, Sequence[str]]
    query: str | None
    reader: Sequence[str]

    def state_file(self, context: Context) -> str:
        """The file that says what was told; its directory is made."""
        within = {id: sorted(words) for id, words in self.within.items()}
        said = [context.program, sorted(context.site().addresses), self.resource, within, self.query, self.reader]
        digest = hashlib.blake2b(dump_json(said).encode(), digest_size=8).hexdigest()
        directory = os.path.join(state_directory(context.environ), "watch")
        make_private_directory(directory)
        return os.path.join(directory, f"{context.program}-{self.resource}-{digest}.sqlite")


class ResourceWatch:
    """An open one. Of what is there when it is run for the first time nothing is told."""

    def __init__(self, mirror: Mirror, resource: str) -> None:
        self._mirror, self._resource = mirror, resource
        self._is_new = mirror.file.part_state(resource, _WATCHED) is None

    def begin_watch(self) -> int | None:
        """Read what is there, unless that was done; returns how many things that were. Raises `CallsheetError`."""
        if not self._is_new:
            return None
        read = self._sync_mirror()
        with self._mirror.file.transaction():
            self._mirror.file.note_part(self._resource, _WATCHED, state="told")
        self._is_new = False
        return read

    def poll_changes(self, report: ReportEvent) -> None:
        """Tell what is new or different. What `told` raises keeps it untold. Raises `CallsheetError`."""

        def tell(change: ThingChange) -> None:
            if change.things.resource == self._resource:
                report(event_of(change))

        self._mirror.on_change = tell
        self._sync_mirror()

    def _sync_mirror(self) -> int:
        read = 0
        for done in self._mirror.sync_resources():
            if done.failed:
                raise CallsheetError(done.problem or f"{done.table} could not be read")
            read = done.read  # the last one is what is watched: what it belongs to comes before it
        self._mirror.file.check_still_there()
        return read


@contextmanager
def opened_watch(context: Context, watched: Watched) -> Iterator[ResourceWatch]:
    """For the thread that calls it. Raises `UsageError` for a resource or a filter that there is not."""
    dispatcher = StepDispatcher(context)
    try:
        file = MirrorFile(watched.state_file(context), context.program, " ".join(sorted(context.site().addresses)))
        try:
            wanted = [watched.resource]
            yield ResourceWatch(
                Mirror(dispatcher, file, wanted=wanted, within=watched.within, query=watched.query), watched.resource
            )
        finally:
            file.close()
    finally:
        dispatcher.close()


@contextmanager
def locked_state(state: str) -> Iterator[None]:
    """Of two that share a state each would tell half. Raises `CallsheetError`."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked_file(state, _LOCK_PATIENCE))
        except CallsheetError:
            raise CallsheetError(
                "another process watches the same", hint="end that one, or name another --inbox"
            ) from None
        yield


def event_of(change: ThingChange) -> dict[str, Any]:
    """The JSON that a delivery would bring. Told again after a stop it has the same id; each change has its own."""
    row, things = change.row, change.things
    data: str = row.values["data"]
    parents = [id for name, id in sorted(row.values.items()) if name.endswith("_id")]
    identity = dump_json([things.resource, row.id, parents, change.since, change.before, data])
    return {
        "id": hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        "event_type": f"{things.resource}.{'new' if change.before is None else 'changed'}",
        "event_time": row.values["changed_at"] or row.values["read_at"],
        "body": parse_json(data),
        "before": None if change.before is None else parse_json(change.before),
    }
