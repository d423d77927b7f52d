"""What a server says when it does not do as asked: application/problem+json (RFC 9457), in fixed words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One way to be refused."""

    name: str
    status: int
    title: str

    @property
    def type(self) -> str:
        return f"urn:mapl:problem:{self.name}"


MALFORMED = ProblemKind("malformed", 400, "The request cannot be read.")
UNAUTHENTICATED = ProblemKind("unauthenticated", 401, "A valid API key is needed.")
FORBIDDEN = ProblemKind("forbidden", 403, "This API key may not do that.")
NOT_FOUND = ProblemKind("not-found", 404, "There is no such thing here.")
NO_METHOD = ProblemKind("method-not-allowed", 405, "This address does not take that method.")
TOO_SLOW = ProblemKind("too-slow", 408, "The request did not arrive in time.")
EXHAUSTED = ProblemKind("budget-exhausted", 409, "The privacy budget is used up.")
TOO_LARGE = ProblemKind("too-large", 413, "The request is too large.")
NOT_JSON = ProblemKind("unsupported-media-type", 415, "The body must be JSON.")
WRONG_HOST = ProblemKind("wrong-host", 421, "This server has another name.")
INVALID = ProblemKind("invalid", 422, "The request does not have the declared form.")
OTHER_BODY = ProblemKind("other-body", 422, "This Idempotency-Key was used with another body.")
CALLER_LIMIT = ProblemKind("caller-limit", 429, "This API key's share of questions is used up.")
TOO_MANY = ProblemKind("too-many-requests", 429, "This API key calls too often.")
FAULT = ProblemKind("fault", 500, "The server failed.")
OVERLOADED = ProblemKind("overloaded", 503, "The server has too much to do.")
NO_LEDGER = ProblemKind("ledger-unavailable", 503, "The budget cannot be recorded, so nothing is answered.")
ROLLED_BACK = ProblemKind("ledger-rolled-back", 503, "The ledger was put back to an earlier state.")

KINDS = tuple(one for one in globals().values() if isinstance(one, ProblemKind))


class Problem(Exception):
    """A request that is refused; `detail` is written by mapl and quotes nothing private."""

    def __init__(self, kind: ProblemKind, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.headers = kind, detail, dict(headers or {})


def again_later(kind: ProblemKind, detail: str, seconds: int = 1) -> Problem:
    """Refuse for now: the same request may be sent again after so many seconds."""
    return Problem(kind, detail, headers={"Retry-After": str(seconds)})


def render_problem(problem: Problem) -> Response:
    """Return a refusal as a response."""
    kind = problem.kind
    content = {"type": kind.type, "title": kind.title, "status": kind.status, "detail": problem.detail}
    return Response(orjson.dumps(content), kind.status, problem.headers, MEDIA_TYPE)
