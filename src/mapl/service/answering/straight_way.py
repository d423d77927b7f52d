"""The way to a route past the framework: for questions, whose layers on the way cost as much as their answers."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from mapl.service.access.entrance import Endpoint
from mapl.service.problem import render_problem
from mapl.service.refusals import REFUSALS, problem_of


class StraightWay:
    """Serves a route that has no parameters in its path, as the framework would.

    Parameters
    ----------
    route
        By which the request is counted and logged.
    endpoint
        Takes the request and returns the response; what it refuses becomes a problem.
    """

    def __init__(self, route: Any, endpoint: Endpoint) -> None:
        self._route, self._endpoint = route, endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self._route
        try:
            response = await self._endpoint(Request(scope, receive, send))
        except REFUSALS as error:
            response = render_problem(problem_of(error))
        await response(scope, receive, send)
