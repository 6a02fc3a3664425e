"""Which kind of queue an address means. A new kind is a line in `registry.QUEUES` and a definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ...errors import UsageError
from ...registry import QUEUES, resolve_entry
from .port import QueueEnvironment

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.listener import QueueDefinition
    from .port import Guarantees, Inspection, Queue

Note = Callable[[str], None]


class Driver(Protocol):
    """A module that knows one kind of queue beyond this machine."""

    def queue(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note, *, consumes: bool
    ) -> Queue: ...

    def inspection(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note
    ) -> Inspection: ...

    def guarantees(
        self, url: str, definition: QueueDefinition, environment: QueueEnvironment, note: Note
    ) -> Guarantees: ...


class SelectedQueue(NamedTuple):
    """An address with what is needed to use it."""

    driver: Driver
    url: str
    definition: QueueDefinition
    environment: QueueEnvironment

    def queue(self, note: Note, *, consumes: bool) -> Queue:
        return self.driver.queue(self.url, self.definition, self.environment, note, consumes=consumes)

    def inspection(self, note: Note) -> Inspection:
        return self.driver.inspection(self.url, self.definition, self.environment, note)

    def guarantees(self, note: Note) -> Guarantees:
        return self.driver.guarantees(self.url, self.definition, self.environment, note)


def select_queue(url: str, catalog: Catalog, environ: Mapping[str, str]) -> SelectedQueue:
    """Raises `UsageError` where no kind of queue has such addresses."""
    prefix: str = catalog.get("program", catalog.program)["prefix"]
    definitions = catalog.all("queue")
    scheme = url.partition("://")[0]
    for definition in definitions.values():
        if scheme in definition["schemes"]:
            driver = cast("Any", resolve_entry(QUEUES[definition["driver"]]))()
            return SelectedQueue(driver, url, definition, QueueEnvironment(environ, prefix))
    schemes = [scheme for definition in definitions.values() for scheme in definition["schemes"]]
    raise UsageError(
        "--queue: that is not an address of a queue",
        hint=f"like {' or '.join(f'{scheme}://HOST/STREAM' for scheme in schemes)}",
    )
