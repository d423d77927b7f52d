"""The HTTP face of a service: the table of its routes, and how errors become problems."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mapl import __version__
from mapl.service.access import key_routes
from mapl.service.access.entrance import admit_keys
from mapl.service.access.guard import Guard
from mapl.service.access.keys import ADMIN, ASK, READ
from mapl.service.answering import answers, predictions
from mapl.service.answering.lean_route import LeanRoute
from mapl.service.answering.straight_way import StraightWay
from mapl.service.openapi import document, route_document
from mapl.service.page.routes import add_page
from mapl.service.problem import MALFORMED, NO_METHOD, NOT_FOUND, Problem, render_problem
from mapl.service.reading import published
from mapl.service.refusals import REFUSALS, problem_of
from mapl.service.service import Service
from mapl.service.watching import health

ROUTES = (
    ("POST", "/v1/answers", answers.ask, (ASK,)),
    ("GET", "/v1/answers/{id}", answers.get_stored_answer, (ASK,)),
    ("POST", "/v1/predictions", predictions.predict, (ASK, READ)),
    ("GET", "/v1/budget", published.budget, (ASK, READ, ADMIN)),
    ("GET", "/v1/plan", published.plan, (ASK, READ, ADMIN)),
    ("GET", "/v1/ledger", published.ledger, (READ, ADMIN)),
    ("GET", "/v1/report", published.report, (READ, ADMIN)),
    ("GET", "/v1/keys", key_routes.list_keys, (ADMIN,)),
    ("POST", "/v1/keys", key_routes.create_key, (ADMIN,)),
    ("POST", "/v1/keys/{id}/revoke", key_routes.revoke_key, (ADMIN,)),
    ("POST", "/v1/keys/{id}/rotate", key_routes.rotate_key, (ADMIN,)),
    ("GET", "/metrics", health.metrics, (READ, ADMIN)),
    ("GET", "/healthz", health.healthz, ()),
    ("GET", "/readyz", health.readyz, ()),
)
"""Every route of the API: method, path, what it does, and the scopes of which a key needs one; none: open."""


def create_app(service: Service) -> FastAPI:
    """Return the application of a service; its lifespan starts and ends the desk."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # What a server is made of stays; looking through it with every large request would double their time.
        gc.collect()
        gc.freeze()
        service.desk.start()
        service.vigil.start()
        service.alerts.start()
        yield
        await service.alerts.end()
        await service.vigil.end()
        await service.desk.close()
        if service.spans is not None:
            await asyncio.to_thread(service.spans.close)

    app = FastAPI(
        title="mapl",
        version=__version__,
        lifespan=lifespan,
        # The framework's pages load scripts from elsewhere; ours is at /docs, the document itself at /openapi.json.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Its spans and their exceptions would carry away what logs must not hold; ours are in watching.spans.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.service = service
    straight = {}
    for method, path, endpoint, scopes in ROUTES:
        admitting = admit_keys(endpoint, scopes) if scopes else endpoint
        app.router.add_api_route(
            path,
            admitting,
            methods=[method],
            route_class_override=LeanRoute,
            **route_document(service, method, path, scopes),
        )
        if endpoint is answers.ask:
            straight[method, path] = StraightWay(app.router.routes[-1], admitting)
    add_page(app)
    app.openapi = document(app, service)  # type: ignore[method-assign]
    for kind in REFUSALS:
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(
        Guard, settings=service.settings, traffic=service.traffic, spans=service.spans, straight=straight
    )
    return app


async def _refused(request: Request, error: Exception) -> Response:
    return render_problem(problem_of(error))


async def _http(request: Request, error: Exception) -> Response:
    """Say in our form what the framework refuses."""
    assert isinstance(error, HTTPException)
    kinds = {404: NOT_FOUND, 405: NO_METHOD}
    details = {404: "Nothing has this address.", 405: "The header Allow lists the methods of this address."}
    kind = kinds.get(error.status_code, MALFORMED)
    detail = details.get(error.status_code, "The request cannot be read.")
    return render_problem(Problem(kind, detail, headers=error.headers))
