"""The Python client: every call, every refusal, and calls that are sent again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from stand_in import Served, StandInRun, questions, serving

from mapl import Client
from mapl.errors import BudgetExhausted, InvalidData, InvalidParameter, ServiceError
from mapl.service.client import plain_rows
from mapl.service.settings import ServerSettings


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(StandInRun(queries=60)) as running:
        yield running


def test_every_call(served: Served) -> None:
    with Client(served.url, served.key()) as client:
        answers = client.ask([[5.0, "client"], {"x": -5.0, "note": "client"}, [0.0, "client"]])
        assert answers.labels == ("certainly", "no", None)
        assert answers.statuses == ("answered", "answered", "abstained")
        assert (len(answers), client.answer(answers.id)) == (3, answers)
        assert client.budget()["abstained"] == 1
        assert client.plan()["plan"]["classes"] == ["no", "certainly"]
        assert [entry["number"] for entry in client.ledger(after=0)] == [1, 2, 3]  # start, keys, answers
        assert client.report().startswith("<!DOCTYPE html>")
        assert served.key() not in repr(client)


def test_one_name_is_one_request(served: Served) -> None:
    with Client(served.url, served.key()) as client:
        first = client.ask([[5.0, "named"]], idempotency_key="n")
        assert client.ask([[5.0, "named"]], idempotency_key="n") == first
        with pytest.raises(InvalidData, match="used with another body"):
            client.ask([[6.0, "named"]], idempotency_key="n")


def test_refusals_become_errors(served: Served) -> None:
    with Client(served.url, served.key()) as client:
        with pytest.raises(InvalidData, match="'x'"):
            client.ask([["five", "a"]])
        with pytest.raises(InvalidParameter, match="no answer of that id"):
            client.answer("0" * 64)
        with pytest.raises(InvalidParameter, match="no student"):
            client.predict([[5.0, "a"]])
    with Client(served.url, "mapl_nobody") as stranger, pytest.raises(ServiceError, match="API key"):
        stranger.budget()
    with Client(served.url, served.key("ask")) as asker, pytest.raises(ServiceError, match="scope read or admin"):
        asker.report()


def test_an_exhausted_budget() -> None:
    with serving(StandInRun(queries=4)) as served, Client(served.url, served.key()) as client:
        assert client.ask(questions(5)).statuses[-1] == "not asked"
        with pytest.raises(BudgetExhausted, match="used up"):
            client.ask(questions(1, start=9))


def test_a_capped_key_is_not_tried_again() -> None:
    with serving() as served:
        client = Client(served.url, served.key("ask", most=1))
        with client, pytest.raises(ServiceError, match="share of questions"):
            client.ask(questions(2))


def test_a_busy_server_is_asked_again_until_it_answers() -> None:
    with serving(settings=ServerSettings(rows_per_second=2.0, burst=1)) as served:
        with Client(served.url, served.key()) as client:
            told = [client.ask([[5.0, "again"]]) for _ in range(2)]
        assert told[0].labels == told[1].labels == ("certainly",)
        hasty = Client(served.url, served.key(), retries=0)
        with hasty, pytest.raises(ServiceError, match="too often"):
            _ = [hasty.budget() for _ in range(2)]


def test_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", "k", retries=1) as client, pytest.raises(ServiceError, match="reached"):
        client.budget()


def test_somebody_else_is_there() -> None:
    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(502)
            self.end_headers()
            self.wfile.write(b"<h1>Bad gateway</h1>")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Stranger)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        client = Client(f"http://127.0.0.1:{server.server_port}", "k")
        with client, pytest.raises(ServiceError, match="not in the server's words"):
            client.budget()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_rows_of_any_kind_become_json() -> None:
    frame = pd.DataFrame({"x": [1.5, np.nan], "note": ["a", None]})
    as_dicts = [{"x": 1.5, "note": "a"}, {"x": None, "note": None}]
    assert plain_rows(frame) == as_dicts
    assert plain_rows(pl.DataFrame({"x": [1.5, None], "note": ["a", None]})) == as_dicts
    assert plain_rows(pa.table({"x": [1.5, None], "note": ["a", None]})) == as_dicts
    assert plain_rows(np.array([[1.0, 2.0]])) == [[1.0, 2.0]]
    assert plain_rows([[1, "a"]]) == [[1, "a"]]


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, "a"], [float("inf"), "b"]],
        [{"x": 1.0, "note": "a"}, {"x": -np.inf, "note": "b"}],
        np.array([[1.0, 0.0], [np.inf, 0.0]]),
        pd.DataFrame({"x": [1.0, np.inf], "note": ["a", "b"]}),
        [[[0.0, 1.0], "a"], [[0.0, float("inf")], "b"]],
        [[np.array([0.0]), "a"], [np.array([np.inf]), "b"]],
    ],
)
def test_an_infinity_is_refused_before_anything_is_sent(served: Served, rows: Any) -> None:
    before = served.ledger.spending("labels")
    with Client(served.url, served.key()) as client, pytest.raises(InvalidData, match="Row 2 holds an infinite"):
        client.ask(rows)
    assert served.ledger.spending("labels") == before
