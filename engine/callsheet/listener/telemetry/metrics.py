"""What is counted: plain numbers on the hot path, shown through the official client library when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Histogram, Metric
    from prometheus_client.registry import Collector


# A family: name, help, type, samples; a sample: name, labels, value. All of it can be written as JSON.
Family = tuple[str, str, str, Sequence[tuple[str, Mapping[str, str], float]]]
PER_PROCESS = ("process_", "python_")


def families_of_registry(registry: Collector) -> list[Family]:
    return [_family_of_metric(each) for each in registry.collect()]


def _family_of_metric(metric: Metric) -> Family:
    samples = [(each.name, each.labels, each.value) for each in metric.samples]
    return metric.name, metric.documentation, metric.type, samples


class MergedMetrics:
    """A collector. `workers` are families by the worker's number; the first one's are its own.

    Values of a process carry the worker's number. Of the others the sum is shown, but for those in `largest`, and for
    those in `shared`, which every worker sees alike.
    """

    def __init__(self, workers: Mapping[int, Iterable[Any]], largest: Collection[str], shared: Collection[str]) -> None:
        self._workers = workers
        self._largest = largest
        self._shared = shared

    def collect(self) -> Iterator[Metric]:
        merged: dict[str, Family] = {}
        values: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
        for worker, of_worker in self._workers.items():
            for name, help, kind, samples in of_worker:
                merged.setdefault(name, (name, help, kind, ()))
                merged_values = values.setdefault(name, {})
                if name in self._shared and merged_values:
                    continue
                for sample, labels, value in samples:
                    more = {"worker": str(worker)} if name.startswith(PER_PROCESS) else {}
                    key = (sample, tuple(sorted({**labels, **more}.items())))
                    merged_values[key] = (
                        self._combine_values(name, merged_values[key], value) if key in merged_values else value
                    )
        for name, family in merged.items():
            yield _metric_of_family(family, values[name])

    def _combine_values(self, name: str, one: float, other: float) -> float:
        return max(one, other) if name in self._largest else one + other


def _metric_of_family(family: Family, values: Mapping[tuple[str, tuple[tuple[str, str], ...]], float]) -> Metric:
    from prometheus_client import Metric

    metric = Metric(*family[:3])
    for (sample, labels), value in values.items():
        metric.add_sample(sample, dict(labels), value)
    return metric


PREFIX = "listener"
_BUCKETS = (0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 15)


class Metrics:
    """`readings` are asked when somebody looks: name → (help, label or empty, function giving label value → number).

    Names follow the conventions of Prometheus: base units, and `_total` at the end of what only grows.
    """

    def __init__(self) -> None:
        self.received = 0
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.rejected: Counter[str] = Counter()
        self.readings: dict[str, tuple[str, str, Callable[[], Mapping[str, float]]]] = {}
        self.largest: set[str] = set()  # readings of which the largest counts where there are several workers
        self.shared: set[str] = set()  # readings that every worker sees alike
        self._durations: Histogram | None = None
        self._registry: CollectorRegistry | None = None

    def start_registry(self) -> None:
        """Make ready for being looked at."""
        from prometheus_client import CollectorRegistry, Histogram
        from prometheus_client.gc_collector import GCCollector
        from prometheus_client.process_collector import ProcessCollector

        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(self)
        self._durations = Histogram(
            f"{PREFIX}_handler_duration_seconds",
            "Time handlers took.",
            ["handler", "result"],
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def observe_handler(self, job: str, duration: float, *, succeeded: bool) -> None:
        if self._durations is not None:
            self._durations.labels(job, "succeeded" if succeeded else "failed").observe(duration)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        yield CounterMetricFamily(f"{PREFIX}_deliveries_received", "Deliveries that arrived.", value=self.received)
        events = CounterMetricFamily(
            f"{PREFIX}_events", "Genuine events, by source and outcome.", labels=["source", "outcome"]
        )
        for labels, count in list(self.outcomes.items()):
            events.add_metric(labels, count)
        yield events
        rejected = CounterMetricFamily(
            f"{PREFIX}_deliveries_rejected", "Deliveries refused, by reason.", labels=["reason"]
        )
        for reason, count in list(self.rejected.items()):
            rejected.add_metric([reason], count)
        yield rejected
        for name, (help, label, read) in self.readings.items():
            family = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            metric = family(f"{PREFIX}_{name}", help, labels=[label] if label else None)
            for value, number in read().items():
                metric.add_metric([value] if label else [], number)
            yield metric

    def current_families(self) -> list[Family]:
        """Everything as it is now, for another worker of the same listener."""
        return families_of_registry(self._registry) if self._registry is not None else []

    def merged_page(self, accept: str, workers: Mapping[int, list[Any]]) -> tuple[bytes, str]:
        """The page of all workers, and its content type."""
        from prometheus_client.exposition import choose_encoder

        largest, shared = ({f"{PREFIX}_{name}" for name in names} for names in (self.largest, self.shared))
        encode: tuple[Any, str] = choose_encoder(accept)
        return encode[0](MergedMetrics(workers, largest, shared)), encode[1]

    def metrics_page(self, accept: str) -> tuple[bytes, str]:
        """The page, and its content type."""
        from prometheus_client.exposition import choose_encoder

        encode: tuple[Any, str] = choose_encoder(accept)
        return encode[0](self._registry), encode[1]
