"""`release` follows `chances`: exactly, over all flips, for the ladder; in frequency for others."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mapl.audit.statistical import clopper_pearson, epsilon_lower_bound
from mapl.audit.votes.histograms import Law
from mapl.audit.votes.secrets import secrets_of
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.noise import ONE, Coins, SystemCoins
from mapl.types import ABSTAIN, Budget, Integers, State, Tallies

BUDGET = Budget(2.0, 1e-2)


def observed(law: Law, counts: Integers, draws: int, coins: Coins) -> Integers:
    """Ask one question many times; return how often each column of `chances` came out.

    A secret is drawn anew for every question; without one, questions share runs as long as the limits allow.
    """
    n_classes = len(counts)
    together = draws if secrets_of(law) is None else 1
    seen = np.zeros(2 * n_classes + 1, dtype=np.int64)
    done = 0
    while done < draws:
        block = Tallies(np.tile(counts, (min(together, draws - done), 1)))
        outcome = law.release(law.start(coins), block, coins)
        column = np.where(outcome.labels == ABSTAIN, n_classes, outcome.labels)
        if outcome.fallback is not None:
            column = np.where(outcome.fallback, column + n_classes + 1, column)
        seen += np.bincount(column, minlength=len(seen))
        done += len(outcome.labels)
    return seen


class Script(Coins):
    """Coins whose flips are written down; they remember the exact probability of what was written."""

    private = False

    def __init__(self, flips: tuple[bool, ...]) -> None:
        self._flips = list(flips)
        self.probability = Fraction(1)

    def words(self, n: int) -> NDArray[np.uint64]:
        raise AssertionError("the ladder needs flips only")

    def flip(self, numerators: NDArray[np.int64]) -> NDArray[np.bool_]:
        taken, self._flips = self._flips[: numerators.size], self._flips[numerators.size :]
        for passes, numerator in zip(taken, numerators.tolist(), strict=True):
            chance = Fraction(numerator, ONE)
            self.probability *= chance if passes else 1 - chance
        return np.array(taken, dtype=np.bool_)


@pytest.mark.parametrize("online", [False, True])
def test_all_flips_of_the_ladder_give_exactly_its_chances(online: bool) -> None:
    ladder = make("ladder", Task(BUDGET, 30, 3, 6), max_abstentions=2)
    questions = Tallies(np.array([[10, 10, 10], [15, 9, 6], [22, 5, 3], [2, 28, 0], [1, 0, 29]]))
    released: dict[tuple[int, ...], Fraction] = {}
    for flips in product((False, True), repeat=len(questions)):
        coins, state, labels = Script(flips), State(), []
        blocks = [Tallies(questions.counts[[i]]) for i in range(5)] if online else [questions]
        for block in blocks:
            outcome = ladder.release(state, block, coins)
            labels += outcome.labels.tolist()
            state = outcome.state
        key = tuple(labels)
        released[key] = released.get(key, Fraction(0)) + coins.probability
        assert state.halted == (labels.count(ABSTAIN) == 2)

    # The same law from the table: walk through the questions until the second abstention.
    passing = [Fraction(int(n), ONE) for n in ladder.rungs.at(questions.distances)]
    chances = ladder.chances(questions, State())
    for chance, row, winner in zip(passing, chances, questions.values, strict=True):
        assert row[winner] == float(chance)
        assert row[3] == 1 - float(chance)
    expected: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for chance, winner in zip(passing, questions.values.tolist(), strict=True):
        longer: dict[tuple[int, ...], Fraction] = {}
        for labels_so_far, probability in expected.items():
            if labels_so_far.count(ABSTAIN) == 2:
                longer[labels_so_far] = probability
                continue
            longer[(*labels_so_far, winner)] = probability * chance
            longer[(*labels_so_far, ABSTAIN)] = probability * (1 - chance)
        expected = longer
    assert released == expected
    assert sum(released.values()) == 1


def wide(name: str) -> tuple[AnyMechanism, int]:
    """Return a mechanism whose limits allow as many questions in one run as are drawn, and how many that is."""
    if name == "ladder":
        return replace(make(name, Task(BUDGET, 40, 3, 10), max_abstentions=2), max_abstentions=10**9), 400_000
    if name == "noisy-max":
        return replace(make(name, Task(BUDGET, 40, 3, 10)), max_answers=10**9), 400_000
    if name == "permute-and-flip":
        return replace(make(name, Task(BUDGET, 40, 3, 10)), n_queries=10**9), 400_000
    if name == "ladder-then-max":
        made: Any = make(name, Task(BUDGET, 40, 3, 10), max_abstentions=2)
        return replace(made, ladder=replace(made.ladder, max_abstentions=10**9)), 400_000
    return make(name, Task(BUDGET, 40, 3, 10), max_abstentions=2), 8_000


NAMES = ["ladder", "noisy-max", "permute-and-flip", "ladder-then-max", "threshold-ladder", "stable-queries"]
ROWS = [[14, 13, 13], [22, 15, 3], [4, 33, 3]]


@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_frequencies_follow_the_exact_law(name: str) -> None:
    """False alarms: below 1e-6 for all six mechanisms together (Bonferroni over at most 126 intervals)."""
    mechanism, draws = wide(name)
    confidence = 1 - 1e-6 / 126
    for row in ROWS:
        counts = np.array(row)
        seen = observed(mechanism, counts, draws, SystemCoins())
        assert seen.sum() == draws
        law = np.zeros(7)
        exact = mechanism.chances(Tallies(counts[None, :]), State())[0]
        law[: len(exact)] = exact
        for hits, chance in zip(seen.tolist(), law.tolist(), strict=True):
            interval = clopper_pearson(hits, draws, confidence)
            assert interval.low - 1e-12 <= chance <= interval.high + 1e-12


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["ladder", "noisy-max", "permute-and-flip"])
def test_no_frequency_refutes_the_claim(name: str) -> None:
    """A 99.9% lower bound on epsilon from real draws stays below what one whole run claims."""
    mechanism, draws = wide(name)
    claimed = make(name, Task(BUDGET, 40, 3, 10), **({"max_abstentions": 2} if name == "ladder" else {})).epsilon(
        None, BUDGET.delta
    )
    found = []
    for row, neighbour in (([22, 15, 3], [21, 16, 3]), ([14, 13, 13], [13, 14, 13])):
        for p, q in ((row, neighbour), (neighbour, row)):
            hits, other = (observed(mechanism, np.array(side), draws, SystemCoins()) for side in (p, q))
            found += [
                epsilon_lower_bound(int(a), int(b), draws, BUDGET.delta, 0.999)
                for a, b in zip(hits, other, strict=True)
            ]
    assert max(found) <= claimed


@pytest.mark.statistical
def test_a_statistical_lower_bound_catches_softmax() -> None:
    from mapl.audit.votes.twins import twin_of

    honest = make("exponential-vote", Task(Budget(1.0, 0.0), 10, 2, 1))
    law = replace(twin_of("softmax", honest).law, n_queries=10**9)  # type: ignore[type-var]
    hits, other = (observed(law, np.array(row), 400_000, SystemCoins()) for row in ([9, 1], [8, 2]))
    # One answer costs 2 epsilon = 2: the rarer label has e^2 times the chance on the neighbour.
    bound = epsilon_lower_bound(int(other[1]), int(hits[1]), 400_000, 0.0, 0.999)
    assert honest.epsilon(None, 0.0) < bound < 2.2


def test_intervals_are_exact_at_the_ends() -> None:
    assert clopper_pearson(0, 100, 0.999).low == 0
    assert clopper_pearson(100, 100, 0.999).high == 1
    # With no hits the upper end solves (1 - p)^n = tail.
    assert (1 - clopper_pearson(0, 100, 0.99).high) ** 100 == pytest.approx(0.005)
    assert 0.5 in clopper_pearson(50, 100, 0.9)
    assert epsilon_lower_bound(0, 10, 100, 0.0, 0.999) == 0
