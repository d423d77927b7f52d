"""Who may do what: every scope against every route."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import httpx
import pytest
from stand_in import Served, serving

from mapl.service.access.keys import KeyMaker
from mapl.service.access.sessions import COOKIE
from mapl.service.app import ROUTES
from mapl.service.settings import ServerSettings

SCOPES = ("ask", "read", "admin")
ALLOWED = {
    ("POST", "/v1/answers"): {"ask"},
    ("GET", "/v1/answers/{id}"): {"ask"},
    ("POST", "/v1/predictions"): {"ask", "read"},
    ("GET", "/v1/budget"): {"ask", "read", "admin"},
    ("GET", "/v1/plan"): {"ask", "read", "admin"},
    ("GET", "/v1/ledger"): {"read", "admin"},
    ("GET", "/v1/report"): {"read", "admin"},
    ("GET", "/v1/keys"): {"admin"},
    ("POST", "/v1/keys"): {"admin"},
    ("POST", "/v1/keys/{id}/revoke"): {"admin"},
    ("POST", "/v1/keys/{id}/rotate"): {"admin"},
    ("GET", "/metrics"): {"read", "admin"},
}
OPEN = {("GET", "/healthz"), ("GET", "/readyz")}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        yield running


def call(client: httpx.Client, method: str, path: str) -> httpx.Response:
    body = {"json": {"rows": [[5.0, "a"]]}} if method == "POST" else {}
    return client.request(method, path.replace("{id}", "0" * 64), **body)  # type: ignore[arg-type]


def test_the_matrix_below_knows_every_route() -> None:
    assert {(method, path) for method, path, _, _ in ROUTES} == set(ALLOWED) | OPEN


@pytest.mark.parametrize("scopes", [some for n in (1, 2, 3) for some in combinations(SCOPES, n)])
def test_a_route_is_open_to_its_scopes_and_to_no_other(served: Served, scopes: tuple[str, ...]) -> None:
    with served.client(*scopes) as client:
        for (method, path), wanted in ALLOWED.items():
            reply = call(client, method, path)
            assert (reply.status_code == 403) == wanted.isdisjoint(scopes), path
            refused = path in ("/v1/keys", "/v1/keys/{id}/rotate") and reply.status_code == 422  # rows are no key
            assert reply.status_code in (200, 403, 404) or refused


def test_nobody_comes_in_without_a_key(served: Served) -> None:
    token = served.key()
    sessions = served.service.entrance.sessions
    session = sessions.cookie(sessions.begun(token.split("_")[1], now=2e9), now=2e9)
    headers = [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {token}"},
        {"Authorization": token},
        {"Authorization": f"Bearer {token}x"},
        {"Authorization": f"Bearer mapl_{'0' * 12}_{'A' * 43}"},
        {"X-API-Key": token},
        {"Cookie": f"{COOKIE}={session}"},
        {"Cookie": f"{COOKIE}={token}"},
    ]
    for header in headers:
        with httpx.Client(base_url=served.url, headers=header, trust_env=False, timeout=300) as client:
            for method, path in ALLOWED:
                reply = call(client, method, path)
                assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer"), path
            for method, path in OPEN:
                assert call(client, method, path).status_code == 200
    assert served.ledger.spending("labels").answered <= 1


def test_a_revoked_key_ends(served: Served) -> None:
    token, record = KeyMaker.of(served.service.run.service_key).new("leaver", ("read",))
    served.ledger.add_key(record)
    served.service.entrance.forget()
    with served.client(token=token) as client:
        assert client.get("/v1/plan").status_code == 200
        served.ledger.revoke_key(record.id)
        served.service.entrance.forget()
        assert client.get("/v1/plan").status_code == 401


def test_calls_that_come_too_fast_are_told_when_to_come_again() -> None:
    slow = ServerSettings(rows_per_second=0.5, burst=3)
    with serving(settings=slow) as served, served.client("read") as client, served.client("ask") as other:
        statuses = [client.get("/v1/plan").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        last = client.get("/v1/plan")
        assert last.json()["type"] == "urn:mapl:problem:too-many-requests"
        assert last.headers["retry-after"] in ("1", "2")  # a call fits after two seconds, and some have passed
        assert other.get("/v1/plan").status_code == 200
