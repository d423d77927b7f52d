"""What a server says when it does not do as asked: application/problem+json (RFC 9457), in fixed words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to be refused."""

    name: str
    status: int
    title: str

    @property
    def type(self) -> str:
        return f"urn:mapl:problem:{self.name}"


MALFORMED = Kind("malformed", 400, "The request cannot be read.")
UNAUTHENTICATED = Kind("unauthenticated", 401, "A valid API key is needed.")
FORBIDDEN = Kind("forbidden", 403, "This API key may not do that.")
NOT_FOUND = Kind("not-found", 404, "There is no such thing here.")
NO_METHOD = Kind("method-not-allowed", 405, "This address does not take that method.")
EXHAUSTED = Kind("budget-exhausted", 409, "The privacy budget is used up.")
TOO_LARGE = Kind("too-large", 413, "The request is too large.")
NOT_JSON = Kind("unsupported-media-type", 415, "The body must be JSON.")
WRONG_HOST = Kind("wrong-host", 421, "This server has another name.")
INVALID = Kind("invalid", 422, "The request does not have the declared form.")
OTHER_BODY = Kind("other-body", 422, "This Idempotency-Key was used with another body.")
CALLER_LIMIT = Kind("caller-limit", 429, "This API key's share of questions is used up.")
TOO_MANY = Kind("too-many-requests", 429, "This API key calls too often.")
FAULT = Kind("fault", 500, "The server failed.")
OVERLOADED = Kind("overloaded", 503, "The server has too much to do.")
NO_LEDGER = Kind("ledger-unavailable", 503, "The budget cannot be recorded, so nothing is answered.")

KINDS = tuple(one for one in globals().values() if isinstance(one, Kind))


class Problem(Exception):
    """A request that is refused; `detail` is written by mapl and quotes nothing private."""

    def __init__(self, kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.headers = kind, detail, dict(headers or {})


def again_later(kind: Kind, detail: str, seconds: int = 1) -> Problem:
    """Refuse for now: the same request may be sent again after so many seconds."""
    return Problem(kind, detail, headers={"Retry-After": str(seconds)})


def rendered(problem: Problem) -> Response:
    """Return a refusal as a response."""
    kind = problem.kind
    content = {"type": kind.type, "title": kind.title, "status": kind.status, "detail": problem.detail}
    return Response(orjson.dumps(content), kind.status, problem.headers, MEDIA_TYPE)
