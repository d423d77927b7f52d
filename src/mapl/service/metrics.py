"""What Prometheus may see: spend and traffic, never anything about a single question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

if TYPE_CHECKING:
    from mapl.service.budget import Spending

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Traffic:
    """Counts the requests of one worker by route and status; answers and abstentions are both 200."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "mapl_requests", "Requests of this worker.", ("method", "route", "status"), registry=self._registry
        )
        self._waiting = Gauge(
            "mapl_waiting_questions", "Questions that wait in this worker.", registry=self._registry
        )
        self._spent = Gauge(
            "mapl_published", "What all workers together have published.", ("outcome",), registry=self._registry
        )
        self._most = Gauge(
            "mapl_published_limit", "How much may be published.", ("outcome",), registry=self._registry
        )
        self._halted = Gauge("mapl_halted", "1 if nothing new is answered any more.", registry=self._registry)
        self._counters: dict[tuple[str, str, int], Counter] = {}

    def count(self, method: str, route: str, status: int) -> None:
        """Count one request."""
        key = (method, route, status)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._requests.labels(method, route, str(status))
        counter.inc()

    def shown(self, spending: Spending, waiting: int) -> bytes:
        """Return everything in Prometheus' text format."""
        self._waiting.set(waiting)
        self._spent.labels("answered").set(spending.answered)
        self._spent.labels("abstained").set(spending.abstained)
        self._most.labels("answered").set(spending.most_answered)
        self._most.labels("abstained").set(spending.most_abstained)
        self._halted.set(spending.ended)
        return generate_latest(self._registry)
