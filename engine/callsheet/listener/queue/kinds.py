"""Which kind of queue an address means. A new kind is a line in `registry.QUEUES` and a definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ...errors import UsageError
from ...registry import QUEUES, resolve
from .port import Place

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.listener import QueueDefinition
    from .port import Inspection, Queue

Note = Callable[[str], None]


class Driver(Protocol):
    """A module that knows one kind of queue beyond this machine."""

    def queue(self, url: str, definition: QueueDefinition, place: Place, note: Note, *, works: bool) -> Queue: ...

    def inspection(self, url: str, definition: QueueDefinition, place: Place, note: Note) -> Inspection: ...

    def promises(
        self, url: str, definition: QueueDefinition, place: Place, note: Note
    ) -> tuple[list[str], list[str]]: ...


class Chosen(NamedTuple):
    """An address with what is needed to use it."""

    driver: Driver
    url: str
    definition: QueueDefinition
    place: Place

    def queue(self, note: Note, *, works: bool) -> Queue:
        return self.driver.queue(self.url, self.definition, self.place, note, works=works)

    def inspection(self, note: Note) -> Inspection:
        return self.driver.inspection(self.url, self.definition, self.place, note)

    def promises(self, note: Note) -> tuple[list[str], list[str]]:
        return self.driver.promises(self.url, self.definition, self.place, note)


def choose(url: str, catalog: Catalog, environ: Mapping[str, str]) -> Chosen:
    """Raises `UsageError` where no kind of queue has such addresses."""
    prefix: str = catalog.get("program", catalog.program)["prefix"]
    definitions = catalog.all("queue")
    scheme = url.partition("://")[0]
    for definition in definitions.values():
        if scheme in definition["schemes"]:
            driver = cast("Any", resolve(QUEUES[definition["driver"]]))()
            return Chosen(driver, url, definition, Place(environ, prefix))
    schemes = [scheme for definition in definitions.values() for scheme in definition["schemes"]]
    raise UsageError(
        "--queue: that is not an address of a queue",
        hint=f"like {' or '.join(f'{scheme}://HOST/STREAM' for scheme in schemes)}",
    )
