"""`webhook events`: the types of events that are received."""

from __future__ import annotations

from ...commands.context import Context, ParameterValues

VIEW = "event"


def events(context: Context, values: ParameterValues) -> None:
    sources = values["source"] or context.catalog.ids("source")
    for name in sources:
        context.catalog.get("source", name)
    rows = [
        {
            "type": event.get("type", name),
            "category": event["category"],
            "source": event["source"],
            "summary": event.get("summary"),
        }
        for name, event in context.catalog.all("event").items()
        if event["source"] in sources
    ]
    context.output(context.catalog.get("view", VIEW)).items(rows)
