"""The metrics of several workers as those of one listener."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.registry import Collector

# A family: name, help, type, samples; a sample: name, labels, value. All of it can be written as JSON.
Family = tuple[str, str, str, Sequence[tuple[str, Mapping[str, str], float]]]
PER_PROCESS = ("process_", "python_")


def families(registry: Collector) -> list[Family]:
    return [_family(each) for each in registry.collect()]


def _family(metric: Metric) -> Family:
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
                        self._combine(name, merged_values[key], value) if key in merged_values else value
                    )
        for name, family in merged.items():
            yield _metric(family, values[name])

    def _combine(self, name: str, one: float, other: float) -> float:
        return max(one, other) if name in self._largest else one + other


def _metric(family: Family, values: Mapping[tuple[str, tuple[tuple[str, str], ...]], float]) -> Metric:
    from prometheus_client import Metric

    metric = Metric(*family[:3])
    for (sample, labels), value in values.items():
        metric.add_sample(sample, dict(labels), value)
    return metric
