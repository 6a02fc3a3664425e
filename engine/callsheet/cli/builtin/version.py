"""`version`: which engine this is, and whether there is a newer one."""

from __future__ import annotations

from ... import __version__
from ...commands.context import Context, ParameterValues
from ...errors import NetworkError

DISTRIBUTION = "callsheet"
PATIENCE = 30.0


def version(context: Context, values: ParameterValues) -> None:
    newest = newest_version() if values.get("check") else None
    wishes = any(context.option(name) for name in ("jq", "query", "columns"))
    if context.output_format == "table" and not wishes and not values.get("json"):
        context.streams.out.write(f"{context.program} {__version__}\n")
        _compare(context, newest)
        return
    import platform

    if values.get("json"):
        context.options["output"] = "json"
    facts = {"program": context.program, "version": __version__, "python": platform.python_version()}
    context.output().one({**facts, "newest": newest} if newest else facts)


def _compare(context: Context, newest: str | None) -> None:
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
