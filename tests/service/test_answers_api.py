"""Asking over HTTP: what is answered, what is refused, and what each costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from stand_in import Served, StandInRun, questions, serving

from mapl.service.settings import ServerSettings

HARD = [0.0, "nobody knows"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(StandInRun(queries=400), settings=ServerSettings(most_rows=50, most_body_bytes=20_000)) as running:
        yield running


def spent(served: Served) -> int:
    state = served.ledger.spending("labels")
    return int(state.answered + state.abstained)


def kind(reply: Any) -> str:
    assert reply.headers["content-type"] == "application/problem+json"
    assert set(reply.json()) == {"type", "title", "status", "detail"}
    assert reply.json()["status"] == reply.status_code
    return str(reply.json()["type"]).removeprefix("urn:mapl:problem:")


def test_rows_are_answered_in_order_and_never_with_a_score(served: Served) -> None:
    with served.client() as client:
        reply = client.post("/v1/answers", json={"rows": [[5.0, "a"], {"note": "b", "x": -5.0}, HARD]})
    assert reply.status_code == 200
    assert reply.json()["answers"] == [
        {"label": "certainly", "status": "answered"},
        {"label": "no", "status": "answered"},
        {"label": None, "status": "abstained"},
    ]


def test_a_question_costs_once_whoever_asks_it_and_however_it_is_written(served: Served) -> None:
    with served.client() as client, served.client("ask") as other:
        before = spent(served)
        first = client.post("/v1/answers", json={"rows": [[7, "once"]]})
        again = client.post("/v1/answers", json={"rows": [[7.0, "once"], {"x": 7, "note": "once"}]})
        elsewhere = other.post("/v1/answers", json={"rows": [[7, "once"]]})
    assert spent(served) == before + 1
    assert again.json()["answers"] == first.json()["answers"] * 2
    assert elsewhere.json()["answers"] == first.json()["answers"]
    assert elsewhere.json()["id"] != first.json()["id"]


def test_an_idempotency_key_names_one_body(served: Served) -> None:
    with served.client() as client:
        named = {"Idempotency-Key": "order 66"}
        first = client.post("/v1/answers", json={"rows": [[5.0, "named"]]}, headers=named)
        before = spent(served)
        again = client.post("/v1/answers", json={"rows": [[5.0, "named"]]}, headers=named)
        other = client.post("/v1/answers", json={"rows": [[5.0, "something else"]]}, headers=named)
    assert again.content == first.content
    assert (other.status_code, kind(other)) == (422, "other-body")
    assert spent(served) == before


def test_another_callers_idempotency_key_is_another_one(served: Served) -> None:
    with served.client() as client, served.client("ask") as other:
        named = {"Idempotency-Key": "the same"}
        mine = client.post("/v1/answers", json={"rows": [[5.0, "mine"]]}, headers=named)
        theirs = other.post("/v1/answers", json={"rows": [[-5.0, "theirs"]]}, headers=named)
    assert (mine.status_code, theirs.status_code) == (200, 200)
    assert mine.json()["id"] != theirs.json()["id"]


def test_an_answer_can_be_fetched_by_its_caller_only(served: Served) -> None:
    with served.client() as client, served.client("ask") as other:
        reply = client.post("/v1/answers", json={"rows": [[5.0, "fetch me"], HARD]})
        path = f"/v1/answers/{reply.json()['id']}"
        assert client.get(path).content == reply.content
        assert (other.get(path).status_code, kind(other.get(path))) == (404, "not-found")
        assert client.get("/v1/answers/nothing").status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"", 400, "malformed"),
        (b"{", 400, "malformed"),
        (b"\xff\xfe", 400, "malformed"),
        (b'{"rows": [[NaN, "x"]]}', 400, "malformed"),
        (b"[]", 422, "invalid"),
        (b'{"rows": []}', 422, "invalid"),
        (b'{"rows": [[1.0, "a"]], "votes": true}', 422, "invalid"),
        (b'{"rows": {"x": 1}}', 422, "invalid"),
        (b'{"rows": [7]}', 422, "invalid"),
        (b'{"rows": [[1.0]]}', 422, "invalid"),
        (b'{"rows": [["secret-canary", "a"]]}', 422, "invalid"),
        (b'{"rows": [[5.0, "fine"], ["secret-canary", "a"]]}', 422, "invalid"),
        (b'{"rows": [' + b", ".join([b'[1.0, "a"]'] * 51) + b"]}", 422, "invalid"),
        (b'{"rows": [[1.0, "' + b"a" * 20_000 + b'"]]}', 413, "too-large"),
    ],
)
def test_what_is_not_as_declared_is_refused_and_costs_nothing(
    served: Served, body: bytes, status: int, problem: str
) -> None:
    before = spent(served)
    with served.client() as client:
        reply = client.post("/v1/answers", content=body, headers={"Content-Type": "application/json"})
        assert (reply.status_code, kind(reply)) == (status, problem)
        in_parts = client.post(
            "/v1/answers", content=iter([body[:9], body[9:]]), headers={"Content-Type": "application/json"}
        )
    assert in_parts.json() == reply.json()
    assert "canary" not in reply.text
    assert spent(served) == before


def test_one_bad_request_does_not_spoil_the_group(served: Served) -> None:
    """Requests that wait are read together; the one that cannot be read must be found."""
    from concurrent.futures import ThreadPoolExecutor

    def post(i: int) -> int:
        row = ["bad", "row"] if i % 3 == 0 else [5.0, f"group {i % 5}"]
        with served.client() as client:
            return client.post("/v1/answers", json={"rows": [row]}).status_code

    served.key()
    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(post, range(36))) == [422 if i % 3 == 0 else 200 for i in range(36)]


def test_other_media_types_methods_and_addresses(served: Served) -> None:
    with served.client() as client:
        text = client.post("/v1/answers", content=b'{"rows": []}', headers={"Content-Type": "text/plain"})
        assert (text.status_code, kind(text)) == (415, "unsupported-media-type")
        deleted = client.delete("/v1/answers")
        assert (deleted.status_code, kind(deleted), deleted.headers["allow"]) == (405, "method-not-allowed", "POST")
        nowhere = client.get("/v2/answers")
        assert (nowhere.status_code, kind(nowhere)) == (404, "not-found")
        assert client.get("/v1/budget/").status_code == 404
        for path in ("/v1/budget%0A", "/v1/answers%0A", "/metrics%0A"):
            assert client.get(path).status_code == 404
        assert client.post("/v1/answers%0A", json={"rows": [[1.0, "a"]]}).status_code == 404
        for name in ("", "ä".encode(), "x" * 256):
            odd = client.post("/v1/answers", json={"rows": [[1.0, "a"]]}, headers={"Idempotency-Key": name})
            assert (odd.status_code, kind(odd)) == (422, "invalid")
        twice = [("Idempotency-Key", "first"), ("Idempotency-Key", "second")]
        odd = client.post("/v1/answers", json={"rows": [[1.0, "a"]]}, headers=twice)
        assert (odd.status_code, kind(odd)) == (422, "invalid")
        assert "2 headers Idempotency-Key" in odd.json()["detail"]


@pytest.mark.parametrize(
    "query", ["after=x", "after=-2", "limit=0", "limit=1001", "after=1&after=2", "after=" + "9" * 30]
)
def test_odd_numbers_in_a_query(served: Served, query: str) -> None:
    with served.client() as client:
        reply = client.get(f"/v1/ledger?{query}")
    assert (reply.status_code, kind(reply)) == (422, "invalid")


def test_the_budget_ends_within_a_request_and_then_for_all() -> None:
    with serving(StandInRun(queries=10)) as served, served.client() as client:
        partly = client.post("/v1/answers", json={"rows": questions(12)})
        assert [one["status"] for one in partly.json()["answers"]] == ["answered"] * 10 + ["not asked"] * 2
        after = client.post("/v1/answers", json={"rows": questions(2, start=50)})
        assert (after.status_code, kind(after)) == (409, "budget-exhausted")
        before = client.post("/v1/answers", json={"rows": questions(10)})
        assert before.json()["answers"] == partly.json()["answers"][:10]
        budget = client.get("/v1/budget").json()
        assert (budget["answered"], budget["questions_left"]) == (10, 0)
        assert client.get("/readyz").status_code == 200


def test_the_abstentions_end_and_nothing_more_is_answered() -> None:
    with serving(StandInRun(abstentions=3)) as served, served.client() as client:
        hard = [[0.0, f"hard {i}"] for i in range(30)]
        told = [one["status"] for one in client.post("/v1/answers", json={"rows": hard}).json()["answers"]]
        assert told.count("abstained") == 3
        assert told == sorted(told[: told.index("not asked")], key=lambda _: 0) + ["not asked"] * told.count(
            "not asked"
        )
        assert client.get("/v1/budget").json()["halted"] is True
        assert client.post("/v1/answers", json={"rows": questions(1)}).status_code == 409


def test_a_callers_share_is_a_limit_of_its_own() -> None:
    with serving() as served, served.client(token=served.key("ask", most=3)) as client, served.client() as other:
        assert client.post("/v1/answers", json={"rows": questions(2)}).status_code == 200
        refused = client.post("/v1/answers", json={"rows": questions(2, start=10)})
        assert (refused.status_code, kind(refused)) == (429, "caller-limit")
        assert "retry-after" not in refused.headers
        assert spent(served) == 2
        assert client.post("/v1/answers", json={"rows": questions(3)}).status_code == 200
        assert other.post("/v1/answers", json={"rows": questions(5, start=20)}).status_code == 200
        known = client.post("/v1/answers", json={"rows": questions(5, start=20)})
        assert (known.status_code, spent(served)) == (200, 8)


def test_identical_requests_at_once_are_one_spend() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with serving() as served:
        served.key()
        body = {"rows": [[5.0, "everybody asks this"]]}

        def post(times: int) -> set[bytes]:
            with served.client() as client:
                return {client.post("/v1/answers", json=body).content for _ in range(times)}

        with ThreadPoolExecutor(50) as threads:
            replies = set().union(*threads.map(post, [6] * 50))
        assert len(replies) == 1
        assert spent(served) == 1
        assert served.service.run.panel.asked <= 1


def test_what_is_public_can_be_read(served: Served) -> None:
    with served.client("read") as client:
        plan = client.get("/v1/plan").json()
        assert plan["plan"]["n_queries"] == 400
        assert plan["digest"] == served.service.run.plan.digest
        assert [column["name"] for column in plan["schema"]["columns"]] == ["x", "note"]
        entries = client.get("/v1/ledger").json()["entries"]
        assert [entry["kind"] for entry in entries[:2]] == ["plan", "start"]
        rest = client.get("/v1/ledger", params={"after": 0, "limit": 1}).json()["entries"]
        assert rest == entries[1:2]
        report = client.get("/v1/report")
        assert report.headers["content-type"] == "text/html; charset=utf-8"
        assert "<!DOCTYPE html>" in report.text
        budget = client.get("/v1/budget").json()
        assert budget["delta"] == 1e-5
        assert budget["epsilon"] <= budget["guaranteed_epsilon"] <= budget["budget_epsilon"]
        assert "one record" in budget["unit"]
        shown = client.get("/metrics").text
        assert f'mapl_published{{outcome="answered"}} {budget["answered"]}.0' in shown
        assert 'route="/v1/ledger",status="200"' in shown


def test_a_report_can_be_read_before_the_first_question() -> None:
    with serving() as served, served.client() as client:
        assert client.get("/v1/report").status_code == 200


def test_every_response_forbids_to_be_stored_or_framed(served: Served) -> None:
    with served.client() as client:
        for reply in (client.get("/healthz"), client.get("/nowhere"), client.get("/v1/plan")):
            assert reply.headers["cache-control"] == "no-store"
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
            assert "access-control-allow-origin" not in reply.headers
        crossing = client.options("/v1/budget", headers={"Origin": "https://elsewhere.example"})
        assert crossing.status_code == 405


def test_a_server_may_insist_on_its_name() -> None:
    with serving(settings=ServerSettings(hosts=("answers.example",))) as served, served.client() as client:
        assert client.get("/healthz").status_code == 421
        assert client.get("/healthz", headers={"Host": "Answers.Example:8000"}).status_code == 200
