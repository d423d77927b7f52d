"""A route without a framework on the way: its endpoint takes the request and returns the response."""

from __future__ import annotations

import re
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import request_response


class LeanRoute(APIRoute):
    """Documented like any route of FastAPI, and served like one of Starlette.

    Looking for dependencies and models that are not there would cost as much as an answer does.
    """

    def __init__(self, path: str, endpoint: Any, **settings: Any) -> None:
        super().__init__(path, endpoint, **settings)
        self.app = request_response(endpoint)
        # The framework's pattern ends in $, which passes a line break at the end of a path too.
        self.path_regex = re.compile(self.path_regex.pattern.removesuffix("$") + r"\Z")
