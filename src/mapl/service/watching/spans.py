"""Spans of requests for OpenTelemetry: route, status and how long at most, and nothing else.

A span begins at a whole second and lasts as long as the bucket that the request's seconds fall into, so that its
times tell no more than the histogram does. It has no row, answer, key, caller, address or error in it, and no
parent: what a request brings along is not passed on.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING

from mapl.errors import InvalidParameter
from mapl.service.watching.metrics import BUCKETS

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

SECOND = 1_000_000_000
BEYOND = 60.0
"""What is told of a request that took longer than every bucket."""

SENDING = 5.0
"""Seconds that a collector may take; a server that ends waits so long for it."""


class Spans:
    """Makes a span of every request and hands it to a processor of the SDK."""

    def __init__(self, processor: SpanProcessor) -> None:
        from opentelemetry.context import Context
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        # Neither the environment nor the process is looked at: nothing is told but what stands here.
        resource = Resource({"service.name": "mapl"})
        self._provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("mapl")
        self._nowhere = Context()

    def note(self, method: str, route: str, status: int, took: float) -> None:
        """Make the span of a request that has just been answered."""
        place = bisect_left(BUCKETS, took)
        most = BUCKETS[place] if place < len(BUCKETS) else BEYOND
        began = int(time.time() - took) * SECOND
        told: dict[str, str | int | float] = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
            "mapl.seconds_at_most": most,
        }
        span = self._tracer.start_span(f"{method} {route}", self._nowhere, attributes=told, start_time=began)
        span.end(began + int(most * SECOND))

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


def spans_to(url: str | None) -> Spans | None:
    """Return what sends spans to an address by OTLP over HTTP; None where there is none."""
    if url is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise InvalidParameter(
            "Spans need the SDK of OpenTelemetry and its OTLP exporter, not installed here: pip install "
            "'mapl[telemetry]'."
        ) from None
    return Spans(BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=SENDING)))
