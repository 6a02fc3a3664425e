"""Spans of OpenTelemetry, one for each genuine delivery, where a person has set up where they go.

Only the API is used here. `opentelemetry-instrument`, or a module that a person loads, sets up the rest before the
listener starts; else there is nothing to do for a delivery.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..verify.event import TRACE_HEADERS

if TYPE_CHECKING:
    from ..dispatcher import DispatchVerdict
    from ..verify.event import Event


def delivery_spans() -> DeliverySpans | None:
    """Nothing where the API is not installed, or nobody has set up where spans go."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else DeliverySpans(provider.get_tracer("callsheet"))


class DeliverySpans:
    """A span begins when an event is genuine and ends with the answer to its sender, whose trace it continues."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def begin_span(self, event: Event) -> None:
        """The event then carries the span's own place in the trace, for those that it is handed on to, also later."""
        from opentelemetry.propagate import extract, inject
        from opentelemetry.trace import SpanKind, set_span_in_context

        sent = {name.decode(): value.decode("latin-1") for name, value in event.trace_headers}
        event.span = self._tracer.start_span(
            f"delivery {event.source.name}",
            context=extract(sent),
            kind=SpanKind.SERVER,
            attributes={"callsheet.source": event.source.name, "callsheet.event.type": event.type},
        )
        carried: dict[str, str] = {}
        inject(carried, context=set_span_in_context(event.span))
        event.trace_headers = [(name.encode(), value.encode()) for name, value in carried.items()]
        event.headers = [*(each for each in event.headers if each[0] not in TRACE_HEADERS), *event.trace_headers]

    def end_span(self, event: Event, verdict: DispatchVerdict) -> None:
        from opentelemetry.trace import StatusCode

        if event.span is None:
            return
        event.span.set_attribute("callsheet.outcome", verdict.outcome)
        event.span.set_attribute("http.response.status_code", verdict.status)
        if verdict.status >= 500:
            event.span.set_status(StatusCode.ERROR, verdict.detail)
        event.span.end()
