"""Nothing private reaches the choice of rows, and a choice can be made again from what is public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from reach import reachable

from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.release import Limit, Limits, MemoryLedger
from mapl.release.label_service import PrivatePool
from mapl.students.active import Active, Inquiry, Pool, interview
from mapl.students.active.strategy import CHOICES
from mapl.types import ABSTAIN, Budget, Labels, Tallies

K, N, ASKED = 60, 200, 40


def world(n_classes: int = 2, seed: int = 0) -> tuple[Pool, Tallies]:
    """Draw public rows, and votes that follow their first columns."""
    draws = np.random.default_rng(seed)
    rows = draws.normal(size=(N, 4))
    scores = np.exp(2 * rows[:, :n_classes])
    counts = np.array([draws.multinomial(K, one / one.sum()) for one in scores])
    return Pool(rows, n_classes, np.full(N, ABSTAIN, dtype=np.int32)), Tallies.checked(counts)


def service(votes: Tallies, *, name: str = "noisy-max", seed: int = 0) -> PrivatePool:
    task = Task(Budget(8.0, 1e-5), K, votes.n_classes, ASKED)
    mechanism, ledger = make(name, task), MemoryLedger()
    ledger.open("a plan", Limits.of({"labels": Limit.of(mechanism.parameters, ASKED)}))
    return PrivatePool(votes, mechanism, task, SeededCoins(seed), ledger=ledger)


class Replayed:
    """All that is left of a run once its private half is deleted: rows that were asked, and their labels."""

    def __init__(self, rows: Any, labels: Any) -> None:
        self.labels = dict(zip(rows.tolist(), labels.tolist(), strict=True))
        self.asked: list[int] = []

    @property
    def left(self) -> int:
        return len(self.labels) - len(self.asked)

    def ask(self, rows: Any) -> Labels:
        self.asked += rows.tolist()
        return np.array([self.labels[row] for row in rows.tolist()], dtype=np.int32)


Chooser = Callable[[Pool, Tallies], Inquiry]


def honest(choice: str) -> Chooser:
    return lambda pool, votes: Active(choice).inquiry(pool, ASKED)


def peeking(pool: Pool, votes: Tallies) -> Inquiry:
    """A broken twin: it asks about the rows whose votes are closest."""
    codes = pool.known.copy()
    rows = np.argsort(votes.distances)[:ASKED]
    codes[rows] = yield rows
    return codes


def sees_public_things_only(chooser: Chooser, n_classes: int = 2) -> None:
    """Check an inquiry at every step: nothing private within reach, and the same choice for all votes."""
    pool, votes = world(n_classes)
    inquiry, pool_of_votes = chooser(pool, votes), service(votes)
    # A neighbour of neighbours of ...: the votes of other people, on which the same labels happened to be released.
    other = chooser(pool, Tallies.checked(np.roll(votes.counts, 7, axis=0)))
    rows, other_rows = next(inquiry), next(other)
    try:
        while True:
            assert rows.tolist() == other_rows.tolist()
            held = [type(one) for one in (*reachable(inquiry), *reachable(other))]
            assert not any(issubclass(one, (Tallies, PrivatePool, MemoryLedger, SeededCoins)) for one in held)
            labels = pool_of_votes.ask(rows)
            rows, other_rows = inquiry.send(labels), other.send(labels)
    except StopIteration:
        pass


@pytest.mark.parametrize("choice", CHOICES)
def test_selection_sees_released_labels_and_public_rows_only(choice: str) -> None:
    sees_public_things_only(honest(choice))


@pytest.mark.parametrize("choice", ["margin", "committee"])
def test_with_three_classes(choice: str) -> None:
    sees_public_things_only(honest(choice), 3)


def test_a_selector_that_looks_at_votes_is_caught() -> None:
    with pytest.raises(AssertionError):
        sees_public_things_only(peeking)


def test_what_a_selector_hides_in_a_closure_is_found() -> None:
    _, votes = world()

    def doubt() -> Any:
        return votes.distances

    assert any(isinstance(one, Tallies) for one in reachable(doubt))
    assert not any(isinstance(one, Tallies) for one in reachable(Active()))


@pytest.mark.parametrize("choice", CHOICES)
def test_replay_without_anything_private(choice: str) -> None:
    """With votes, coins and ledger deleted, released labels and the seed give the same questions and lesson."""
    pool, votes = world()
    live = service(votes)
    codes = interview(Active(choice).inquiry(pool, ASKED), live)
    rows, labels = live.asked, live.released().labels
    del votes, live
    replayed = Replayed(rows, labels)
    again = interview(Active(choice).inquiry(pool, ASKED), replayed)
    assert replayed.asked == rows.tolist()
    assert again.tobytes() == codes.tobytes()
    assert len(rows) <= ASKED


def test_progress_and_end() -> None:
    pool, votes = world()
    seen: list[int] = []
    codes = interview(Active().inquiry(pool, 3 * ASKED), service(votes), on_progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == ASKED == np.count_nonzero(codes != ABSTAIN)  # the service ended first


def test_seeds_change_the_choice() -> None:
    pool, votes = world()
    first = service(votes)
    interview(Active().inquiry(pool, ASKED), first)
    second = service(votes)
    interview(Active().inquiry(Pool(pool.rows, 2, pool.known, seed=1), ASKED), second)
    assert first.asked.tolist() != second.asked.tolist()
