"""The label service: each row once, within limits, on record, and private."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import GuaranteeBroken, InvalidParameter, LedgerError, PlanMismatch
from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.release import Ledger, Limit, Limits, MemoryLedger, aggregate
from mapl.release.label_service import ROWS, PrivatePool
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import ABSTAIN, Budget, Tallies

K, N, ASKED = 40, 30, 12
BUDGET = Budget(4.0, 1e-5)


def votes(n: int = N, seed: int = 0) -> Tallies:
    ones = np.random.default_rng(seed).integers(0, K + 1, size=n)
    return Tallies.checked(np.column_stack([K - ones, ones]))


def service(
    name: str = "link",
    *,
    ledger: Ledger | None = None,
    seed: int = 0,
    kind: type[PrivatePool] = PrivatePool,
    **settings: Any,
) -> PrivatePool:
    task = Task(BUDGET, K, 2, ASKED)
    mechanism = make(name, task, **settings)
    ledger = MemoryLedger() if ledger is None else ledger
    ledger.open("a plan", Limits.of({"labels": Limit.of(mechanism.parameters, ASKED)}))
    return kind(votes(), mechanism, task, SeededCoins(seed), ledger=ledger)


class AnswersAfresh(PrivatePool):
    """A broken twin: whoever asks again hears fresh coins, and averages them."""

    def ask(self, rows: Any) -> Any:
        self._told.clear()
        return super().ask(rows)


def never_twice(kind: type[PrivatePool]) -> None:
    """Check that asking a row again costs nothing and tells nothing new."""
    ledger = MemoryLedger()
    pool = service(ledger=ledger, kind=kind)
    first = pool.ask(np.array([3, 1, 4]))
    before = ledger.head
    for _ in range(3):
        again = pool.ask(np.array([4, 3, 1, 3]))
        assert again.tolist() == [first[2], first[0], first[1], first[0]]
    assert ledger.head == before
    assert pool.left == ASKED - 3


def test_a_row_is_asked_once() -> None:
    never_twice(PrivatePool)


def test_fresh_coins_for_an_old_row_are_caught() -> None:
    with pytest.raises(AssertionError):
        never_twice(AnswersAfresh)


def test_blocks_of_any_size_say_the_same() -> None:
    rows = np.arange(ASKED)
    whole, single = service(), service()
    at_once = whole.ask(rows)
    one_by_one = [int(single.ask(np.array([row]))[0]) for row in rows]
    assert at_once.tolist() == one_by_one


def test_the_service_ends() -> None:
    pool = service()
    labels = pool.ask(np.arange(ASKED + 5))
    assert len(labels) == ASKED
    assert pool.left == 0
    assert pool.ask(np.array([29])).size == 0
    assert pool.ask(np.array([2, 29, 3])).tolist() == [labels[2]]
    released = pool.released()
    assert not released.halted
    assert released.labels.tolist() == labels.tolist()
    assert pool.asked.tolist() == list(range(ASKED))


def test_a_ladder_that_halts_is_cut_short() -> None:
    pool = service("ladder", max_abstentions=1)
    labels = pool.ask(np.argsort(votes().distances)[:ASKED])
    assert labels.tolist() == [ABSTAIN]
    assert pool.left == 0
    released = pool.released()
    assert released.halted
    assert (released.not_asked, released.abstained) == (ASKED - 1, 1)


@pytest.mark.parametrize("rows", [np.array([N]), np.array([-1]), np.array([0.5]), np.array([[1]])])
def test_rows_outside_the_pool_are_refused(rows: Any) -> None:
    pool = service()
    with pytest.raises(InvalidParameter, match="whole numbers from 0 to 29"):
        pool.ask(rows)
    assert pool.left == ASKED


def test_other_votes_than_calibrated_for_are_refused() -> None:
    task = Task(BUDGET, K + 1, 2, ASKED)
    with pytest.raises(GuaranteeBroken, match="another number of teachers"):
        PrivatePool(votes(), make("link", task), task, SeededCoins(0), ledger=MemoryLedger())


def test_it_is_silent_and_never_copied() -> None:
    pool = service()
    assert repr(pool) == "PrivatePool(30 public rows, private)"
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(GuaranteeBroken):
            copied(pool)


def test_the_ledger_names_the_rows(tmp_path: Path) -> None:
    ledger = MemoryLedger()
    pool = service(ledger=ledger)
    pool.ask(np.array([7, 3]))
    pool.ask(np.array([3, 9]))
    assert [record.told()[ROWS] for record in ledger.entries() if ROWS in record.told()] == [[7, 3], [9]]


@pytest.mark.parametrize("blocks_before", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["link", "noisy-max", "ladder", "threshold-ladder"])
def test_resumed(tmp_path: Path, name: str, blocks_before: int) -> None:
    """What is on record is told again for free; the rest is asked; limits hold over both processes."""
    more = {"max_abstentions": 9} if "ladder" in name else {}
    blocks = [np.array([5, 2]), np.array([8, 9, 11]), np.array([1, 5, 20])]
    with SqliteLedger(tmp_path / "ledger") as ledger:
        pool = service(name, ledger=ledger, **more)
        said = [pool.ask(block) for block in blocks[:blocks_before]]
        asked = pool.asked
    with SqliteLedger(tmp_path / "ledger") as ledger:
        n_entries = len(ledger.entries())
        pool = service(name, ledger=ledger, seed=99, **more)
        assert pool.asked.tolist() == asked.tolist()
        for block, labels in zip(blocks, said, strict=False):
            assert pool.ask(block).tolist() == labels.tolist()
        assert len(ledger.entries()) == max(n_entries, 2)  # nothing was spent
        for block in blocks:
            pool.ask(block)
        assert len(pool.asked) <= ASKED
        ledger.verify()


def test_a_stage_that_was_asked_in_order_is_not_gone_on_with() -> None:
    ledger, task = MemoryLedger(), Task(BUDGET, K, 2, ASKED)
    mechanism = make("link", task)
    ledger.open("a plan", Limits.of({"labels": Limit.of(mechanism.parameters, ASKED)}))
    aggregate(votes(ASKED), mechanism, SeededCoins(0), ledger=ledger)
    with pytest.raises(PlanMismatch, match="in a fixed order"):
        service(ledger=ledger)


def test_a_failed_write_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger()
    pool = service(ledger=ledger)

    def full(*given: Any, **named: Any) -> None:
        raise LedgerError("The disk is full; nothing was released.")

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "append", full)
        with pytest.raises(LedgerError):
            pool.ask(np.array([1]))
    assert pool.asked.size == 0
    assert pool.left == ASKED


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, N - 1), max_size=9), max_size=8),
    st.sampled_from(["link", "noisy-max", "ladder"]),
    st.integers(1, 5),
)
def test_limits_hold_whatever_is_asked(blocks: list[list[int]], name: str, most: int) -> None:
    more = {"max_abstentions": most} if name == "ladder" else {}
    ledger = MemoryLedger()
    pool = service(name, ledger=ledger, **more)
    told: dict[int, int] = {}
    for block in blocks:
        labels = pool.ask(np.array(block, dtype=np.int64))
        assert len(labels) <= len(block)
        for row, label in zip(block, labels.tolist(), strict=False):
            assert told.setdefault(row, label) == label
    assert len(told) == len(pool.asked) <= ASKED
    state = ledger.progress("labels").state
    assert state.answered + state.abstained == len(told)
    assert name != "ladder" or state.abstained <= most
    ledger.verify()
