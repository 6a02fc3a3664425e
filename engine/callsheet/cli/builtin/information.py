"""What a program says about itself: help, version, completion, events."""

from __future__ import annotations

from ... import __version__
from ...commands.context import Context, ParameterValues
from ...errors import NetworkError
from ..completion.shells import SHELLS, completion_script

# `completion`: the script that makes a shell ask the program for words.


def print_completion_script(context: Context, values: ParameterValues) -> None:
    shell: str = values["shell"]
    context.streams.out.write(completion_script(shell, context.program))
    if context.streams.out.isatty():
        context.note(SHELLS[shell].use.format(program=context.program))


# `help`: the help page of a command or group.


def show_help(context: Context, values: ParameterValues) -> None:
    """The same page as with `--help` behind the words."""
    from ..invoke import run_command
    from ..tree import root_group

    root_group(context, run_command).main(
        [*values["command"], "--help"], prog_name=context.program, standalone_mode=False, obj=context
    )


# `version`: which engine this is, and whether there is a newer one.


DISTRIBUTION = "callsheet"
PATIENCE = 30.0


def print_version(context: Context, values: ParameterValues) -> None:
    newest = newest_version() if values.get("check") else None
    wishes = any(context.option(name) for name in ("jq", "query", "columns"))
    if context.output_format == "table" and not wishes and not values.get("json"):
        context.streams.out.write(f"{context.program} {__version__}\n")
        _compare_versions(context, newest)
        return
    import platform

    if values.get("json"):
        context.options["output"] = "json"
    facts = {"program": context.program, "version": __version__, "python": platform.python_version()}
    context.output().print_one({**facts, "newest": newest} if newest else facts)


def _compare_versions(context: Context, newest: str | None) -> None:
    if newest is not None:
        context.note("this is the newest version" if newest == __version__ else f"the newest version is {newest}")


def newest_version() -> str:
    """What the package index offers that this installation's pip is set up for; raises `NetworkError`.

    Through pip, because it alone knows a person's mirrors, proxies and credentials.
    """
    import re
    import subprocess
    import sys

    command = [sys.executable, "-P", "-m", "pip", "index", "versions", DISTRIBUTION, "--disable-pip-version-check"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise NetworkError(f"the package index did not answer within {PATIENCE:.0f} s") from None
    found = re.match(rf"{DISTRIBUTION} \(([^)]+)\)", done.stdout)
    if found is None:
        output = (done.stderr.strip().splitlines() or ["nothing"])[-1].removeprefix("ERROR: ")
        raise NetworkError(f"the newest version is not known: {output}", hint="see where this was installed from")
    return found[1]


# `webhook events`: the types of events that are received.


VIEW = "event"


def list_event_types(context: Context, values: ParameterValues) -> None:
    sources = values["source"] or context.catalog.sources.ids()
    for name in sources:
        context.catalog.sources.get(name)
    rows = [
        {
            "type": event.get("type", name),
            "category": event["category"],
            "source": event["source"],
            "summary": event.get("summary"),
        }
        for name, event in context.catalog.events.all().items()
        if event["source"] in sources
    ]
    context.output(context.catalog.views.get(VIEW)).print_items(rows)
