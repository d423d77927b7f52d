"""What Prometheus may see: spend, traffic and how long requests took, never anything about a single question.

The workers of a server share a folder of counters (`count_together`), so that whichever is asked tells of all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from mapl.service.answering.budget import Spending

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
TOGETHER = "PROMETHEUS_MULTIPROC_DIR"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


def count_together(folder: Path) -> None:
    """Let the processes that this one starts count in a folder that they share."""
    os.environ[TOGETHER] = str(folder)


class Traffic:
    """Counts requests by route and status, and their seconds by route; answers and abstentions are both 200."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._shared = TOGETHER in os.environ
        self._requests = Counter(
            "mapl_requests", "Requests of all workers.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "mapl_request_seconds",
            "Seconds from a request's head to the end of its reply, at whole ticks for answers.",
            ("method", "route"),
            registry=self._registry,
            buckets=BUCKETS,
        )
        self._waiting = self._gauge("mapl_waiting_questions", "Questions that wait in all workers.", "livesum")
        self._spent = self._gauge("mapl_published", "What all workers together have published.", label="outcome")
        self._most = self._gauge("mapl_published_limit", "How much may be published.", label="outcome")
        self._halted = self._gauge("mapl_halted", "1 if nothing new is answered any more.")
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def _gauge(self, name: str, words: str, mode: str = "mostrecent", *, label: str | None = None) -> Gauge:
        labels = () if label is None else (label,)
        return Gauge(name, words, labels, registry=self._registry, multiprocess_mode=mode)  # type: ignore[arg-type]

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        key = (method, route, status)
        both = self._children.get(key)
        if both is None:
            both = self._requests.labels(method, route, str(status)), self._seconds.labels(method, route)
            self._children[key] = both
        both[0].inc()
        both[1].observe(seconds)

    def shown(self, spending: Spending, waiting: int) -> bytes:
        """Return everything in Prometheus' text format."""
        self._waiting.set(waiting)
        self._spent.labels("answered").set(spending.answered)
        self._spent.labels("abstained").set(spending.abstained)
        self._most.labels("answered").set(spending.most_answered)
        self._most.labels("abstained").set(spending.most_abstained)
        self._halted.set(spending.ended)
        if not self._shared:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
