"""Expectations are those of the run itself: simulations of the same votes agree with them."""

from __future__ import annotations

import numpy as np
import pytest

from mapl.mechanisms import Task, make
from mapl.mechanisms.votes.confident_max import ConfidentMax
from mapl.noise import SeededCoins
from mapl.planning import Agreement
from mapl.planning.choosing.expectation import count_asked, expect, fidelity, plurality_accuracy
from mapl.planning.votes.sample import VoteSample
from mapl.release import aggregate
from mapl.types import ABSTAIN, Budget, State, Tallies

TASK = Task(Budget(2.0, 1e-5), 100, 3, 1000)


def pool() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    counts = rng.multinomial(100, rng.dirichlet(np.full(3, 0.3), 1000))
    winners = Tallies(counts).values.astype(np.int64)
    truth = np.where(rng.random(1000) < 0.9, winners, (winners + 1) % 3)
    return counts, truth


MECHANISMS = [
    ("ladder", {"max_abstentions": 60}, 1000),
    ("threshold-ladder", {"max_abstentions": 3}, 1000),
    ("link", {}, 150),
    ("noisy-max", {"sigma": 20.0}, 1000),
    ("confident-max", {"sigma": 25.0, "sigma_test": 40.0, "threshold": 70}, 200),
    ("ladder-then-max", {"max_abstentions": 40}, 1000),
]


@pytest.mark.parametrize(("name", "settings", "asked"), MECHANISMS, ids=[m[0] for m in MECHANISMS])
def test_a_forecast_from_the_votes_themselves_is_what_happens(name: str, settings: dict, asked: int) -> None:
    counts, truth = pool()
    mechanism = make(name, Task(TASK.budget, 100, 3, asked), **settings)
    told = expect(mechanism, TASK, VoteSample.of(counts, truth=truth))
    rng = np.random.default_rng(1)
    answered, right = [], []
    for seed in range(40):
        order = rng.permutation(1000)
        labels = aggregate(Tallies(counts[order]), mechanism, SeededCoins(seed)).labels
        answered.append(np.count_nonzero(labels != ABSTAIN))
        right.append(np.count_nonzero(labels == truth[order][: len(labels)]))
    # Seeded: four deviations of the mean, and two percent for votes summed up in groups.
    slack = 4 * np.std(answered) / np.sqrt(40) + 0.02 * told.answered
    assert told.answered == pytest.approx(np.mean(answered), abs=slack)
    assert told.right is not None
    assert told.right / told.answered == pytest.approx(np.sum(right) / np.sum(answered), abs=0.03)


def test_fidelity_is_agreement_unless_the_truth_is_known() -> None:
    counts, truth = pool()
    mechanism = make("noisy-max", Task(TASK.budget, 100, 3, 100))
    blind, seeing = VoteSample.of(counts), VoteSample.of(counts, truth=truth)
    assert plurality_accuracy(TASK, blind) == 1
    assert plurality_accuracy(TASK, seeing) == pytest.approx(0.9, abs=0.03)
    made = expect(mechanism, TASK, blind)
    assert fidelity(made, TASK, blind) == made.agreement
    # A wrong label is right now and then where the winner is not, so noise costs less accuracy than agreement.
    assert made.agreement < fidelity(expect(mechanism, TASK, seeing), TASK, seeing) < 1


def test_limits_say_how_many_questions_are_taken() -> None:
    assert count_asked(make("link", Task(TASK.budget, 100, 3, 40)), 1000) == 40
    assert count_asked(ConfidentMax(30.0, 60, 20.0, 50, 10, 3), 1000) == 50
    assert count_asked(make("ladder", TASK, max_abstentions=5), 1000) == 1000


def test_groups_finer_than_questions_still_count() -> None:
    counts, _ = pool()
    made = expect(make("link", Task(TASK.budget, 100, 3, 7)), TASK, VoteSample.of(counts))
    assert made.answered == pytest.approx(7)
    assert expect(make("link", TASK), TASK, Agreement.default()).answered == pytest.approx(1000)


FEW = Agreement.parse("0.95:0.4,0.8:0.2,0.7:0.2,0.6:0.1,0.55:0.1")


@pytest.mark.statistical
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("limit", [1, 2])
def test_few_questions_are_forecast_as_they_happen(n: int, limit: int) -> None:
    """40,000 runs on questions drawn at random; a false alarm below 1e-6 each (5 deviations)."""
    limit = min(limit, n)
    task = Task(Budget(3.0, 1e-5), 60, 2, n)
    mechanism = make("ladder", task, max_abstentions=limit)
    made = expect(mechanism, task, FEW)
    chances = mechanism.chances(FEW.tallies(60, 2), State())[:, 2]
    rng, runs = np.random.default_rng(n), 40_000
    abstains = rng.random((runs, n)) < chances[rng.choice(len(chances), (runs, n), p=FEW.weights())]
    taken = np.cumsum(abstains, axis=1) - abstains < limit
    for counted, said in [((taken & ~abstains), made.answered), ((taken & abstains), made.abstained)]:
        sums = counted.sum(axis=1)
        assert abs(sums.mean() - said) <= 5 * sums.std() / np.sqrt(runs) + 20 / runs


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 31])
def test_a_forecast_of_few_questions_is_possible(n: int) -> None:
    task = Task(Budget(1.0, 1e-6), 60, 2, n)
    for limit in {1, (n + 1) // 2, n}:
        for expected in (FEW, Agreement.default()):
            made = expect(make("ladder", task, max_abstentions=limit), task, expected)
            assert 0 <= made.abstained <= limit + 1e-9
            assert 0 <= made.winners <= made.answered + 1e-9
            assert made.answered + made.abstained <= n + 1e-9
