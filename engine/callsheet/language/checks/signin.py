"""Whether each service has a way of signing in."""

from __future__ import annotations

from ..definition import Definition, Definitions
from .problem import Finding, Findings


def signin_findings(definitions: Definitions, service: Definition) -> Findings:
    """A service that names no way has those that no other one names."""
    if "beside" in service.table:
        of = definitions.get(("service", service.table["beside"]))
        if of is not None and "beside" in of.table:
            yield Finding(("beside",), f"{of.id!r} is a further server itself: name the service that it is beside")
        return
    if service.table.get("auth"):
        return
    named: dict[str, str] = {}
    for (kind, id), other in definitions.items():
        if kind == "service":
            named |= dict.fromkeys(other.table.get("auth", ()), id)
    ways = [id for kind, id in definitions if kind == "auth"]
    if ways and all(way in named for way in ways):
        about = tuple(("service", id) for id in dict.fromkeys(named.values()))
        text = f"nobody could sign in: other services name every way, so name some in 'auth' (of {', '.join(ways)})"
        yield Finding((), text, about)
