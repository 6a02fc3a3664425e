"""One command that reads, on several sites at once: `--site a,b`."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..client.pagination.in_parallel import in_order
from ..errors import CallsheetError, UsageError
from ..jsontext import parse_json
from .context import Context, ParameterValues
from .streams import Streams

if TYPE_CHECKING:
    from ..language.shape.commands import CompiledCommand, ViewDefinition
    from ..output import Output

Run = Callable[[Context, "CompiledCommand", dict[str, Any]], None]
_WORKERS = 8
_COUNTED = {"site", "count"}
_OF_ONE_SITE = ("names", "address")  # keys of columns whose values only mean something on the site they came from


class Outcome(NamedTuple):
    site: str
    items: list[Any]
    text: str  # what a dry run printed
    notes: str
    error: CallsheetError | None


def sites_of(context: Context) -> list[str]:
    """The sites that `--site` names; none where it names one."""
    words = [word.strip() for word in str(context.option("site") or "").split(",")]
    names = list(dict.fromkeys(word for word in words if word))
    return names if len(words) > 1 else []


def run_on_each(
    context: Context, command: CompiledCommand, values: ParameterValues, names: list[str], run: Run
) -> None:
    """Print what all of them answer, each item with its `site`; a site that fails does not stop the others.

    Raises `UsageError` for what changes something, and `CallsheetError` at the end where a site failed.
    """
    _refuse_command(context, command, values)
    _refuse_unknown(context, names)
    view = context.catalog.views.get(command["view"]) if "view" in command else None
    output = context.output(_with_site(view))
    jobs = [_child_context(context, name) for name in names]
    outcomes = []
    with closing(in_order(lambda child: _site_outcome(child, command, dict(values), run), jobs, _WORKERS)) as found:
        for outcome in found:
            outcomes.append(outcome)
            for line in outcome.notes.splitlines():
                context.say(f"{outcome.site}: {line}")
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if len(failed) < len(outcomes):
        if context.option("dry-run"):
            context.streams.out.write("".join(outcome.text for outcome in outcomes))
        else:
            items = [item for outcome in outcomes for item in outcome.items]
            if items and all(item.keys() == _COUNTED for item in items):
                output = context.output(None)
            in_full = view is not None and not view["columns"] and context.output_format == "table"
            _show_in_full(context, output, items) if in_full else output.print_items(items)
    if failed:
        raise _sites_failure(failed, len(outcomes))


def _show_in_full(context: Context, output: Output, items: list[Any]) -> None:
    """Things that have no columns, which no table can hold, stand one below the other."""
    for place, item in enumerate(items):
        context.streams.out.write("\n" if place else "")
        output.print_one(item)


def _refuse_command(context: Context, command: CompiledCommand, values: Mapping[str, Any]) -> None:
    if command["safety"] != "read" or "builtin" in command:
        raise UsageError("several sites only work with commands that list or show something", hint="give one --site")
    if context.option("base-url"):
        raise UsageError("--base-url is the address of one site", hint="give one --site")
    if values.get("out") or values.get("page-token"):
        raise UsageError("--out and --page-token are for one site", hint="give one --site")


def _refuse_unknown(context: Context, names: list[str]) -> None:
    """A name that is misspelt is found before any site is asked."""
    from ..sites.profiles.choose import read_profiles, site_settings

    profiles = read_profiles(context.catalog, context.environ)
    for name in names:
        site_settings(profiles, name)


def _child_context(context: Context, name: str) -> Context:
    """A run of its own that asks nobody, whose result is read here."""
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    child = Context(
        context.program, context.environ, streams, literal=context.literal, restrictions=context.restrictions
    )
    own = {} if context.option("dry-run") else {"output": "json"}
    words = [word for word in (context.option("columns") or "").split(",") if word.strip().lower() != "site"]
    columns = ",".join(words) or None  # they say which fields are asked for
    child.options = {**context.options, **own, "site": name, "columns": columns, "jq": None, "query": None}
    return child


def _site_outcome(child: Context, command: CompiledCommand, values: ParameterValues, run: Run) -> Outcome:
    out, err = cast("io.StringIO", child.streams.out), cast("io.StringIO", child.streams.err)
    error = None
    try:
        run(child, command, values)
    except CallsheetError as failure:
        error = failure
    finally:
        child.close()
    text = _written_text(out)
    items: list[Any] = []
    if error is None and not child.option("dry-run"):
        found = parse_json(text.encode()) if text.strip() else []
        items = [
            _with_site_name(item, str(child.option("site"))) for item in (found if isinstance(found, list) else [found])
        ]
    return Outcome(str(child.option("site")), items, text, _written_text(err), error)


def _written_text(stream: Any) -> str:
    from ..terminal import unguarded_stream

    buffer: Any = unguarded_stream(stream)
    return str(buffer.getvalue())


def _with_site_name(item: Any, site: str) -> Any:
    """The item with its site in front; a number alone is how many there are."""
    if not isinstance(item, dict):
        return {"site": site, "count": item}
    return {"site": site, **{key: item[key] for key in item if key != "site"}}


def _with_site(view: ViewDefinition | None) -> ViewDefinition | None:
    if view is None:
        return None
    kept = [{key: column[key] for key in column if key not in _OF_ONE_SITE} for column in map(dict, view["columns"])]
    return cast("ViewDefinition", {**view, "columns": [{"name": "SITE", "value": "site"}, *kept]})


def _sites_failure(failed: list[Outcome], count: int) -> CallsheetError:
    """Where no site answered, the first failure says what kind it was."""
    failures = [f"{outcome.site}: {outcome.error.message}" for outcome in failed if outcome.error is not None]
    first = failed[0].error
    if len(failed) == count and first is not None:
        return type(first)(f"all {count} sites failed", details=failures, hint=first.hint)
    return CallsheetError(f"{len(failed)} of {count} sites failed", details=failures)
