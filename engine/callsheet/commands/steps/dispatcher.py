"""Files between two requests of one command: what one answered, and another one sends."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ..execute import STDOUT, Extent, download_body, fetch_items, fetching_of, first_page, print_curl, request_builder

if TYPE_CHECKING:
    import tempfile

    from ...client.pagination.page_walk import Page
    from ...client.pagination.paging_plan import PagePlan
    from ...client.request.http_request import FileToSend, Request
    from ...output import Output
    from ..context import Context
    from ..dump import Dump


class HeldFiles:
    """A folder of its own, that only this user can read, made for the first file."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = count(1)

    def fresh_path(self) -> str:
        """Where nothing is yet. The name is a number: what a site calls a file names none of this machine."""
        if self._folder is None:
            import tempfile  # few commands hold a file

            self._folder = tempfile.TemporaryDirectory(prefix="callsheet-")
        return os.path.join(self._folder.name, str(next(self._numbers)))

    def close(self) -> None:
        """The files are removed."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


# One operation's request out of a command: sent, or printed where the run is a dry one.


ONE_PAGE = Extent()
EVERY_PAGE = Extent(all=True)


class StepDispatcher:
    """The way out of one run. In a dry run nothing is sent but, with `--resolve`, what only reads."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.dry = bool(context.option("dry-run"))
        self.resolve = self.dry and bool(context.option("resolve"))
        self.builder = request_builder(context)
        self._building = threading.Lock()
        self._held = HeldFiles()
        self.left: Page | None = None  # the last page that was read of a list, where more follow

    def build_request(
        self, operation: str, arguments: Mapping[str, Any], body: Any = None, files: Sequence[FileToSend] = ()
    ) -> Request:
        with self._building:
            request: Request = self.builder.build_request(operation, arguments, body, files)
        return request

    def safety_of(self, operation: str) -> str:
        """The class of an operation; what the site's deployment does not have can do nothing."""
        try:
            return str(self.builder.operation_call(operation).safety)
        except UsageError:
            return "local"

    def may_repeat(self, operation: str) -> bool:
        """Whether an operation may be sent twice without doing more than once: several may be under way at a time."""
        from ...client.http.retry import IDEMPOTENT

        try:
            call = self.builder.operation_call(operation)
        except UsageError:  # the site's deployment does not have it, and another step takes its place
            return True
        return call.operation.get("idempotent", call.method in IDEMPOTENT)

    def check_before_sending(self, request: Request) -> None:
        """Refuse what the policy denies, and ask where it wants that; a dry run sends nothing and goes on."""
        if not self.dry:
            self.context.client().gate.check_policy(request)

    def held_back(self, request: Request, *, final: bool) -> bool:
        """Whether the request is to be printed instead of sent. `final` is the one a command is about."""
        return self.dry and (final or not self.resolve or request.safety != "read")

    def print_curl(self, operation: str, request: Request, extent: Extent = ONE_PAGE) -> None:
        """As a curl command; of a list, the request for its first page."""
        plan = self.page_plan(operation)
        if plan is not None and extent.counted and _tells_total(plan):
            extent = Extent(size=1)
        print_curl(self.context, first_page(plan, request, extent) if plan else request)

    def page_plan(self, operation: str) -> PagePlan | None:
        """How the operation pages; None where it answers everything at once."""
        from ...client.pagination.paging_plan import plan_of

        return plan_of(self.context.catalog, self.builder.operation_call(operation))

    def print_pages(self, output: Output, plan: PagePlan, request: Request, extent: Extent, dump: Dump | None) -> None:
        """Print the items as their pages arrive, and say when there are more."""
        output.print_items(fetch_items(self.context, request, plan, extent, dump))

    def count_items(self, plan: PagePlan, request: Request) -> int:
        """How many items a list has: the total that its first page tells, else all are read."""
        from ...client.pagination.fetch_pages import fetch_pages

        send = self.context.client().send
        if _tells_total(plan):
            total = next(fetch_pages(send, plan, request, size=1)).total
            if total is not None:
                return total
        return sum(len(page.items) for page in fetch_pages(send, plan, request, size=plan.largest))

    def fetch_answer(self, operation: str, request: Request, extent: Extent = ONE_PAGE) -> Any:
        """What an operation answers: its items where it pages, else the JSON body, else None."""
        plan = self.page_plan(operation)
        if plan is not None:
            return self._collect_items(plan, request, extent)
        reply = self.context.client().send(request)
        if request.reply == "location":
            return reply.location
        return reply.json() if reply.request.reply == "json" or reply.media.endswith("json") else None

    def fetch_everything(self, operation: str, request: Request) -> Any:
        """What an operation that only reads answers, over all its pages where it pages."""
        plan = self.page_plan(operation)
        return (
            self.fetch_answer(operation, request)
            if plan is None
            else self._collect_items(plan, request, EVERY_PAGE, whole=True)
        )

    def stream_items(self, plan: PagePlan, request: Request) -> Iterator[Any]:
        """Every item of a list that pages, as the pages come; these are as long as they can be, or as was asked."""
        from ...client.pagination.fetch_pages import fetch_pages

        size = None if any(name == plan.size for name, _ in request.query) else plan.largest
        fetching = fetching_of(self.context, self.builder, request, plan)
        for page in fetch_pages(self.context.client().send, plan, request, size=size, fetching=fetching):
            yield from page.items

    def _collect_items(self, plan: PagePlan, request: Request, extent: Extent, *, whole: bool = False) -> list[Any]:
        from ...client.pagination.fetch_pages import fetch_pages
        from ...client.pagination.page_walk import RepeatedPage

        found: list[Any] = []
        self.left = None
        settings: dict[str, Any] = {"size": extent.size, "most": extent.most, "start": extent.start}
        fetching = fetching_of(self.context, self.builder, request, plan) if extent.size is None else None
        try:
            for page in fetch_pages(self.context.client().send, plan, request, **settings, fetching=fetching):
                found += page.items
                self.left = page if page.next is not None else None
                if not extent.all and extent.most is None:
                    break
        except RepeatedPage as error:  # a service that does not page after all: its one answer is everything
            if not whole or error.of != 1:
                raise
        return found

    def save_file(self, request: Request, path: str, *, named: bool) -> dict[str, Any] | None:
        """Write the answer to a file of this name; where one that nobody `named` is there, to `name (2)` and so on.

        What a person named `-` is standard output.
        """
        from ...client.http.download import save_to

        if self.context.keep_file is not None:
            return self.context.keep_file(request, path)
        if named and path == STDOUT:
            download_body(self.context, request, path)
            return None
        if not named:
            path = os.path.normpath(path)
            make_directory(os.path.dirname(path))
            path = free_name(path)
        return {"file": path, "bytes": save_to(self.context.client(), request, path, named=named)}

    def hold_file(self, request: Request, name: str) -> dict[str, Any]:
        """The answer in a file that later steps send under this name; gone with `close`."""
        from ...client.http.download import save_to

        path = self._held.fresh_path()
        return {"path": path, "name": name, "bytes": save_to(self.context.client(), request, path)}

    def close(self) -> None:
        self._held.close()


def _tells_total(plan: PagePlan) -> bool:
    """Whether a page of one item may say how many there are."""
    return bool(plan.total and plan.size)


def make_directory(path: str) -> None:
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory {path}: {(error.strerror or str(error)).lower()}") from None


def free_name(path: str) -> str:
    root, ending = os.path.splitext(path)
    names = chain([path], (f"{root} ({number}){ending}" for number in count(2)))
    return next(name for name in names if not os.path.lexists(name))
