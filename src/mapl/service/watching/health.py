"""Whether the server lives, whether it can answer, and what Prometheus may count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from mapl.service.answering.body import JSON
from mapl.service.answering.clerk import STAGE
from mapl.service.watching.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from mapl.service.service import Service

FINE = b'{"status":"ok"}'


async def healthz(request: Request) -> Response:
    """Say that this process is alive."""
    return Response(FINE, media_type=JSON)


async def readyz(request: Request) -> Response:
    """Say that the ledger could be written just now; 503 if it cannot."""
    service: Service = request.app.state.service
    await service.readiness.checked()
    return Response(FINE, media_type=JSON)


async def metrics(request: Request) -> Response:
    """Return spend and traffic for Prometheus."""
    service: Service = request.app.state.service
    state = await service.desk.consult(lambda ledger: ledger.spending(STAGE))
    shown = service.traffic.shown(service.prices.spending(state), service.desk.waiting)
    return Response(shown, headers={"Content-Type": CONTENT_TYPE})
