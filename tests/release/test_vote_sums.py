"""Counts of votes as sums: no change of one unit moves them farther than is paid for, and two broken twins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from mapl.audit.counts.tables import CellWorld, Table, neighbours
from mapl.audit.moments.tables import Step, ToldSums
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.noise.gaussian import DEVIATION_BITS
from mapl.release.moment_sums import TOLD_BITS
from mapl.release.vote_sums import MOST_REACH, MOST_TEACHERS, VoteSums
from mapl.teachers.ballot import Ballot
from mapl.types import Adjacency, Budget, Tallies

BUDGET = Budget(2.0, 1e-5)
N_QUESTIONS, N_CLASSES = 3, 3
HONEST = VoteSums.for_votes(BUDGET, n_questions=N_QUESTIONS, n_classes=N_CLASSES)
SHARDS = {"a": 0, "b": 1}
WORLD = CellWorld(points=(0.0, 1.5), most=2)


class OneSided(VoteSums):
    """Forgets that a vote that moves leaves one class and enters another."""

    @property
    def worth(self) -> int:
        return math.isqrt(self.reaches[0] ** 2 // self.n_questions)


class OneQuestion(VoteSums):
    """Pays for one question, and releases all of them."""

    @property
    def worth(self) -> int:
        return math.isqrt(self.reaches[0] ** 2 // 2)


@dataclass(frozen=True)
class Poll:
    """Teachers that change their minds about every question with every record."""

    sums: VoteSums

    def __call__(self, table: Table) -> ToldSums:
        ballot = Ballot(N_QUESTIONS, N_CLASSES, 2)
        for k in range(2):
            shard = [record for record in table if SHARDS.get(str(record[0]), 1) == k]
            said = sum(1 + int(record[1] > 0) + int(record[2]) for record in shard)
            ballot.cast(k, (np.arange(N_QUESTIONS) + said) % N_CLASSES if shard else None)
        steps = self.sums.add_up(ballot.tallies())
        return ToldSums((), (tuple(((steps.high << 40) + steps.low).tolist()),))


def farthest(sums: VoteSums, adjacency: Adjacency) -> int:
    """Return the squared distance of the two neighbouring tables that are farthest apart."""
    told = {table: Poll(sums)(table) for table in WORLD.tables()}
    return max(
        Step.between(one, other).squares[0]
        for _, some in neighbours(told, adjacency)
        for (one, _), (other, _) in some
    )


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one", "labels"])
def test_no_change_of_one_unit_moves_votes_farther_than_is_paid_for(adjacency: Adjacency) -> None:
    assert HONEST.certify(BUDGET)
    allowed = HONEST.reaches[0] ** 2
    assert 0.999 * allowed < farthest(HONEST, adjacency) <= allowed


@pytest.mark.parametrize("broken", [OneSided, OneQuestion])
def test_broken_twins_are_caught(broken: type[VoteSums]) -> None:
    twin = broken(HONEST.reaches, HONEST.entries, n_classes=N_CLASSES)
    assert farthest(twin, "add-remove") > 1.9 * twin.reaches[0] ** 2


@pytest.mark.parametrize(("n_questions", "n_classes"), [(1, 2), (300, 2), (7, 10)])
def test_a_vote_has_as_many_steps_as_the_price_allows(n_questions: int, n_classes: int) -> None:
    sums = VoteSums.for_votes(BUDGET, n_questions=n_questions, n_classes=n_classes)
    assert (sums.n_questions, sums.n_classes, sums.changes) == (n_questions, n_classes, 1)
    moved = 2 * n_questions
    assert moved * sums.worth**2 <= sums.reaches[0] ** 2 < moved * (sums.worth + 1) ** 2
    said: dict[str, Any] = dict(sums.parameters)
    assert (said["questions"], said["worth of a vote"]) == (n_questions, sums.worth)


@pytest.mark.parametrize("epsilon", [4.0, 8.0, 16.0])
def test_large_budgets_are_used_up(epsilon: float) -> None:
    budget = Budget(epsilon, 1e-6)
    sums = VoteSums.for_votes(budget, n_questions=250, n_classes=2)
    assert sums.certify(budget)
    assert not replace(sums, reaches=(int(sums.reaches[0] * 1.001),)).certify(budget)


def test_the_most_votes_of_the_most_steps_add_up_exactly() -> None:
    sums = VoteSums((MOST_REACH,), (2,), n_classes=2)
    counts = np.array([[MOST_TEACHERS, 0]])
    added = sums.add_up(Tallies.checked(counts))
    assert (int(added.high[0]) << 40) + int(added.low[0]) == MOST_TEACHERS * sums.worth
    with pytest.raises(GuaranteeBroken, match="more than exact sums allow"):
        VoteSums((MOST_REACH + 1,), (2,), n_classes=2)


def test_counts_are_told_in_votes() -> None:
    from mapl.noise import SeededCoins

    counts = np.array([[900, 50, 50], [0, 1000, 0], [0, 0, 1000]])
    told = HONEST.release(0, HONEST.add_up(Tallies.checked(counts)), SeededCoins(1))
    noise = (1 << DEVIATION_BITS) / HONEST.worth
    assert np.abs(told * noise - counts.ravel()).max() < 6 * noise
    assert (told * (1 << TOLD_BITS) == np.rint(told * (1 << TOLD_BITS))).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(GuaranteeBroken, match="do not fit"):
        HONEST.add_up(Tallies.checked(np.array([[1, 1], [2, 0], [0, 2]])))
    with pytest.raises(GuaranteeBroken, match="do not fit"):
        HONEST.add_up(Tallies.checked(np.full((N_QUESTIONS, N_CLASSES), 1 << 20)))
    with pytest.raises(InvalidParameter, match="positive delta"):
        VoteSums.for_votes(Budget(1.0, 0.0), n_questions=3, n_classes=2)
