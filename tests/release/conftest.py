"""Ledgers of every kind, for the tests of what all of them promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from mapl.noise import SeededCoins
from mapl.release.ledger.inquiries import OnlineLedger
from mapl.release.ledger.opening import open_ledger


@pytest.fixture
def one_run_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every new ledger draw the same id, so that chains can be compared."""
    monkeypatch.setattr("mapl.release.ledger.run_id.SystemCoins", lambda: SeededCoins(1))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], OnlineLedger]]:
    """Return a function that makes a new, empty ledger of one kind."""
    kind = request.param
    address = request.getfixturevalue("postgres") if kind == "postgres" else ""

    def made() -> OnlineLedger:
        name = uuid4().hex
        url = {"memory": "memory:", "sqlite": f"sqlite:///{tmp_path}/{name}"}.get(kind, f"{address}&schema={name}")
        ledger = open_ledger(url)
        closing.callback(ledger.close)
        return ledger

    with ExitStack() as closing:
        yield made
