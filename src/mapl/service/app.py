"""The HTTP face of a service: the table of its routes, and how errors become problems."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mapl import __version__
from mapl.errors import InvalidData, MaplError
from mapl.service import answers, health, predictions, published
from mapl.service.desk import Closed, Overloaded
from mapl.service.entrance import admitting
from mapl.service.guard import FAULTS, Guard
from mapl.service.keys import ADMIN, ASK, READ
from mapl.service.lean_route import LeanRoute
from mapl.service.openapi import document, route_document
from mapl.service.page.routes import add_page
from mapl.service.problem import (
    INVALID,
    MALFORMED,
    NO_LEDGER,
    NO_METHOD,
    NOT_FOUND,
    OVERLOADED,
    Problem,
    again_later,
    rendered,
)
from mapl.service.service import Service

ROUTES = (
    ("POST", "/v1/answers", answers.ask, (ASK,)),
    ("GET", "/v1/answers/{id}", answers.stored, (ASK,)),
    ("POST", "/v1/predictions", predictions.predict, (ASK, READ)),
    ("GET", "/v1/budget", published.budget, (ASK, READ, ADMIN)),
    ("GET", "/v1/plan", published.plan, (ASK, READ, ADMIN)),
    ("GET", "/v1/ledger", published.ledger, (READ, ADMIN)),
    ("GET", "/v1/report", published.report, (READ, ADMIN)),
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
        yield
        await service.desk.close()

    app = FastAPI(
        title="mapl",
        version=__version__,
        lifespan=lifespan,
        # The interactive pages load scripts from elsewhere; the document itself is at /openapi.json.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Spans and their exceptions would carry away what logs must not hold.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.service = service
    for method, path, endpoint, scopes in ROUTES:
        app.router.add_api_route(
            path,
            admitting(endpoint, scopes) if scopes else endpoint,
            methods=[method],
            route_class_override=LeanRoute,
            **route_document(service, method, path, scopes),
        )
    add_page(app)
    app.openapi = document(app, service)  # type: ignore[method-assign]
    for error, handler in ((Problem, _problem), (HTTPException, _http), (MaplError, _refused)):
        app.add_exception_handler(error, handler)
    app.add_exception_handler(Overloaded, _overloaded)
    app.add_exception_handler(Closed, _overloaded)
    app.add_middleware(Guard, settings=service.settings, traffic=service.traffic)
    return app


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return rendered(error)


async def _refused(request: Request, error: Exception) -> Response:
    """Tell what is wrong with a request; a fault of the ledger or of the system is for the log only."""
    if isinstance(error, InvalidData):
        return rendered(Problem(INVALID, str(error)))
    FAULTS.error("%s: %s", type(error).__name__, error)
    return rendered(again_later(NO_LEDGER, "Nothing was answered, and nothing more was spent; try again later."))


async def _overloaded(request: Request, error: Exception) -> Response:
    why = "stopping" if isinstance(error, Closed) else "too busy"
    return rendered(
        again_later(OVERLOADED, f"The server is {why}; nothing was spent. Send the request again later.")
    )


async def _http(request: Request, error: Exception) -> Response:
    """Say in our form what the framework refuses."""
    assert isinstance(error, HTTPException)
    kinds = {404: NOT_FOUND, 405: NO_METHOD}
    details = {404: "Nothing has this address.", 405: "The header Allow lists the methods of this address."}
    kind = kinds.get(error.status_code, MALFORMED)
    detail = details.get(error.status_code, "The request cannot be read.")
    return rendered(Problem(kind, detail, headers=error.headers))
