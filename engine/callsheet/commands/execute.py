"""How far long work has come, on standard error, where a person watches and nothing else is written there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ..errors import NotAllowed, UsageError, count_of
from ..language.safety import CHANGES
from ..terminal import drawing_stream

if TYPE_CHECKING:
    from ..client.http.reply import Reply
    from ..client.pagination.fetch_pages import Fetching
    from ..client.pagination.page_walk import Page
    from ..client.pagination.paging_plan import PagePlan
    from ..client.request.build import Builder
    from ..client.request.http_request import Request
    from ..client.request.operation_call import Call
    from ..language.shape.commands import ViewDefinition
    from .context import Context
    from .dump import Dump


class Counted(Protocol):
    """`counts` are the items that it stands for."""

    @property
    def counts(self) -> int: ...


Thing = TypeVar("Thing", bound=Counted)
_MANY = 10


def with_progress(
    context: Context, pages: Iterable[Page], most: int | None, count: Callable[[], int | None] | None = None
) -> Iterator[Page]:
    """The pages, with a bar of their items from the second page on.

    The total is known, what is wanted, or what `count` finds out where pages do not tell.
    """
    rest = iter(pages)
    for page in rest:
        yield page
        if page.next is not None and _is_watched(context):
            total = page.total if page.total is not None or count is None else count()
            yield from _with_bar(context, rest, len(page.items), _progress_length(total, most))


def with_count(context: Context, things: Iterable[Thing], total: int) -> Iterator[Thing]:
    """Things that are done one after another, with a bar where there are many of them; nothing is printed meanwhile."""
    if total < _MANY or not context.streams.err.isatty() or context.option("quiet") or context.option("dry-run"):
        yield from things
        return
    import click

    with click.progressbar(length=total, label="items", file=drawing_stream(context.streams.err), show_pos=True) as bar:
        for thing in things:
            yield thing
            bar.update(thing.counts)


@contextmanager
def with_line(context: Context) -> Iterator[Callable[[str], None]]:
    """Shows one line in the place of the one before, where a person watches; at the end it is gone."""
    if not context.streams.err.isatty() or context.option("quiet"):
        yield lambda _: None
        return
    stream, shown = drawing_stream(context.streams.err), ""

    def show(line: str) -> None:
        nonlocal shown
        stream.write(f"\r{line.ljust(len(shown))}" if line else f"\r{' ' * len(shown)}\r")
        stream.flush()
        shown = line

    try:
        yield show
    finally:
        show("")


def _is_watched(context: Context) -> bool:
    """Standard output must be elsewhere: rows and a bar on one screen would write over each other."""
    streams = context.streams
    return streams.err.isatty() and not streams.out.isatty() and not context.option("quiet")


def _progress_length(total: int | None, most: int | None) -> int | None:
    known = [number for number in (total, most) if number is not None]
    return min(known) if known else None


def _with_bar(context: Context, pages: Iterator[Page], done: int, length: int | None) -> Iterator[Any]:
    import click

    # Without a length there is nothing to fill: something moves, and the items are counted.
    settings: dict[str, Any] = {"length": length} if length is not None else {"iterable": iter(int, 1)}
    settings |= {"show_percent": length is not None, "show_eta": length is not None}
    with click.progressbar(label="items", file=drawing_stream(context.streams.err), show_pos=True, **settings) as bar:
        bar.update(done)
        for page in pages:
            yield page
            bar.update(len(page.items))
        if length is None:  # it is known now
            bar.length = bar.pos
            bar.render_progress()


# Carrying out one request and printing what came of it: shared by every command that calls an operation.


STDOUT = "-"  # where a file is named


class Extent(NamedTuple):
    """How much of a list is wanted: one page, `most` items, or all; `size` items a page, from page `start` on.

    It goes to the file `out`; with `resume` it goes on where that was cut off. What is `counted` is wanted as a number.
    """

    all: bool = False
    size: int | None = None
    most: int | None = None
    start: str | None = None
    out: str | None = None
    resume: bool = False
    counted: bool = False


def extent_of(values: Mapping[str, Any]) -> Extent:
    """The paging options of a command."""
    for name in ("limit", "max"):
        if values.get(name) is not None and values[name] < 1:
            raise UsageError(f"--{name} expects a number of at least 1, not {values[name]}")
    if values.get("resume") and values.get("out") in (None, STDOUT):
        raise UsageError("--resume needs --out FILE, the file to continue")
    if values.get("count"):
        for name in ("limit", "max", "all", "page-token", "out"):
            if values.get(name):
                raise UsageError(f"--count and --{name} cannot be used together")
        return Extent(all=True, counted=True)
    paging = (bool(values.get("all")), values.get("limit"), values.get("max"), values.get("page-token"))
    out = values.get("out") if values.get("out") != STDOUT else None
    return Extent(*paging, out, bool(values.get("resume")))


def request_builder(context: Context) -> Builder:
    from ..client.request.build import Builder

    return Builder(context.catalog, context.site(), context.program)


def check_allowed(context: Context, request: Request) -> None:
    """Refuse what the policy denies, and ask before something is destroyed."""
    dry = context.option("dry-run")
    gate = context.client().gate
    if not dry:
        gate.refuse_denied(request)
    if request.safety == "destroy":
        what = f"{request.method} {request.path}"
        context.confirm(f"{what}?" if request.name == what else f"{request.name}: {what}?")
    if not dry:
        gate.check_policy(request)


def check_operation(context: Context, call: Call) -> None:
    """Refuse an operation that the policy denies whatever its arguments, before these are asked for or looked up."""
    from ..client.request.gate import facts_of, policy_error

    verdict = context.site().policy.certainly_denies(facts_of(call))
    if verdict is not None:
        raise policy_error(call.id, verdict)


def refuse_when_read_only(context: Context, what: Callable[[], str] = lambda: "this command") -> None:
    """For a command that changes something, where nothing may be changed. `what` is what is called."""
    from ..client.request.gate import policy_error

    verdict = context.site().policy.denies_changes()
    if verdict is not None:
        raise policy_error(what(), verdict)


def dry_run(context: Context, request: Request) -> bool:
    """Print the request as a curl command when nothing is to be sent; whether that was so."""
    if not context.option("dry-run"):
        return False
    print_curl(context, request)
    return True


def print_curl(context: Context, request: Request) -> None:
    client = context.client()
    verdict = client.gate.judge_request(request)
    if verdict.decision != "allow":
        outcome = "denies this" if verdict.decision == "deny" else "wants a person to confirm this"
        context.note(f"{request.name}: the policy {outcome} ({verdict})")
    try:
        client.headers(request)
    except NotAllowed as error:
        context.note(f"{error.message}, so the command has no credential")
    context.hold(request, client.curl(request, show_token=bool(context.option("show-token"))))


def perform_request(
    context: Context,
    request: Request,
    call: Call,
    *,
    view: ViewDefinition | None = None,
    extent: Extent | None = None,
    out: str | None = None,
) -> None:
    """Send the request of an operation and print the answer: its items where it is a list, else the whole."""
    from ..client.pagination.paging_plan import plan_of

    plan = plan_of(context.catalog, call)
    extent = extent or Extent()
    if plan is None and (extent.all or extent.size or extent.start):
        raise UsageError(f"{call.id} has no pages: --all, --limit and --page-token do not apply")
    check_allowed(context, request)
    if plan is not None:
        request = first_page(plan, request, extent)
    if dry_run(context, request):
        return
    output = context.output(view, settled=request.safety in CHANGES)
    if request.reply == "binary" or out is not None:
        download_body(context, request, out)
    elif plan is not None:
        output.print_items(fetch_items(context, request, plan, extent))
    else:
        print_reply(context, output, context.client().send(request), extent)


def fetch_items(
    context: Context, request: Request, plan: PagePlan, extent: Extent, dump: Dump | None = None
) -> Iterator[Any]:
    """The wanted items, as pages come, after those that a `dump` has already; says at the end when there are more."""
    from ..client.pagination.fetch_pages import fetch_pages

    page: Page | None = None
    size = plan.largest if extent.size is None and extent.all else extent.size
    most, start, seen = extent.most, extent.start, dump.seen if dump else []
    fetching = fetching_of(context, request_builder(context), request, plan) if extent.size is None else None
    if dump is not None and dump.continues:
        most, start = most and most - dump.count, dump.next
        if start is None and fetching is None:  # every page is there
            return
    send = context.client().send
    found = fetch_pages(send, plan, request, size=size, most=most, start=start, fetching=fetching, seen=seen)
    total = partial(fetching.count_items, send) if fetching else None
    many = extent.all or extent.most is not None
    for page in with_progress(context, found, most, total) if many else found:
        yield from page.items
        if dump is not None:
            dump.add_page(page, plan)
        if not many:
            break
    if page is not None and page.next is not None and not many:
        context.note_more(page.next, page.total, is_sure=page.total is not None or bool(plan.next or plan.last))


def fetching_of(context: Context, requests: Builder, request: Request, plan: PagePlan) -> Fetching | None:
    """How the items of a long list are read by their ids, where the operation says so."""
    if plan.fetch is None or request.operation is None:
        return None
    from ..client.pagination.fetch_pages import Fetching

    call, gate = requests.operation_call(request.operation), context.client().gate
    return Fetching(
        requests,
        call,
        request,
        plan.fetch,
        note=context.note,
        may_send=lambda each: gate.judge_request(each).decision == "allow",
    )


def print_reply(context: Context, output: Any, reply: Reply, extent: Extent) -> None:
    """Print an answer that is no page."""
    value = reply.json()
    if value is None or (value in ({}, [], "") and reply.request.safety in CHANGES):  # a table would say nothing
        what = "without a body" if value is None else "with nothing in it"
        context.note(f"done: {reply.request.name} answered {reply.status} {what}")
    if value is None:
        return
    if isinstance(value, list):
        output.print_items(value if extent.most is None else value[: extent.most])
    else:
        output.print_one(value)


def download_body(context: Context, request: Request, out: str | None) -> None:
    """Stream the body to a file or to standard output, but no unknown bytes to a terminal."""
    from ..client.http.download import save_to, write_to

    if out not in (None, STDOUT):
        size = save_to(context.client(), request, out)
        context.note(f"wrote {count_of(size, 'byte')} to {out}")
        return
    stream = context.streams.out
    if stream.isatty():
        raise UsageError(f"{request.name} answers with a file", hint="--out FILE, or send the output to a program")
    write_to(context.client(), request, getattr(stream, "buffer", sys.stdout.buffer))


def first_page(plan: PagePlan, request: Request, extent: Extent) -> Request:
    """The request for the first page, so that a dry run shows exactly what would be sent."""
    from ..client.pagination.page_walk import Walk

    size = plan.largest if extent.size is None and extent.all else extent.size
    walk = Walk(plan, request, size=size, most=extent.most, start=extent.start)
    return walk.request or request
