"""Every honest mechanism stays within its claim, whatever the adversary does."""

from __future__ import annotations

import math

import pytest

from mapl.audit import Verdict, audit
from mapl.audit.votes.adversary import Game, lower_delta, upper_delta
from mapl.audit.votes.histograms import pairs_of
from mapl.audit.votes.limits import RunEnds
from mapl.audit.votes.moments import divergence
from mapl.errors import InvalidParameter
from mapl.mechanisms import REGISTRY, AnyMechanism, Task, entry, make
from mapl.mechanisms.votes.noisy_max import NoisyMax
from mapl.types import ADJACENCY, UNIT, Budget


def calibrated(name: str, budget: Budget, teachers: int, classes: int, questions: int) -> AnyMechanism:
    settings = {"max_abstentions": 2} if "max_abstentions" in entry(name).settings else {}
    return make(name, Task(budget, teachers, classes, questions), **settings)


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - {"majority"}))
@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 1e-5), (0.7, 1e-4)])
def test_two_classes(name: str, epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    finding = audit(calibrated(name, budget, 50, 2, 15), budget, n_teachers=50, n_classes=2, questions=15)
    assert finding.verdict is Verdict.within, finding
    assert finding.epsilon <= epsilon
    assert finding.found_delta_upper is not None
    assert finding.found_delta_lower * (1 - 1e-12) <= finding.found_delta_upper <= delta
    assert (finding.adjacency, finding.unit) == (ADJACENCY, UNIT)
    assert finding.certified is not False


@pytest.mark.parametrize(
    "name", sorted(n for n, e in REGISTRY.items() if n != "majority" and (e.classes is None or 3 in e.classes))
)
def test_three_classes(name: str) -> None:
    budget = Budget(2.0, 1e-5)
    finding = audit(calibrated(name, budget, 10, 3, 8), budget, n_teachers=10, n_classes=3, questions=8)
    assert finding.verdict is Verdict.within, finding


@pytest.mark.parametrize("name", ["exponential-vote", "permute-and-flip", "gibbs-flip"])
@pytest.mark.parametrize("classes", [2, 4])
def test_pure_claims_at_delta_zero(name: str, classes: int) -> None:
    budget = Budget(1.0, 0.0)
    finding = audit(calibrated(name, budget, 8, classes, 3), budget, n_teachers=8, n_classes=classes, questions=3)
    assert finding.verdict is Verdict.within, finding
    assert finding.found_delta_lower <= 1e-15
    largest = finding.details["largest_log_ratio_of_one_question"]
    # Three questions share the budget equally, and some pair of neighbours reaches its share.
    assert largest <= 1 / 3
    assert largest >= (0.33 if name == "gibbs-flip" else 0.2)


def test_the_sandwich_is_tight_for_the_ladder() -> None:
    budget = Budget(2.0, 1e-5)
    ladder = calibrated("ladder", budget, 100, 2, 30)
    finding = audit(ladder, budget, n_teachers=100, n_classes=2, questions=30)
    assert finding.found_delta_upper is not None
    assert finding.found_delta_upper <= 1.2 * finding.found_delta_lower
    # Greedy tables use their price up at the order they were designed for.
    assert finding.renyi_order == ladder.order
    assert finding.renyi_found == pytest.approx(finding.renyi_claimed, rel=1e-6)


def test_majority_claims_nothing() -> None:
    budget = Budget(2.0, 1e-5)
    finding = audit(make("majority", Task(budget, 9, 2, 5)), budget, n_teachers=9, n_classes=2, questions=5)
    assert finding.verdict is Verdict.claims_nothing
    assert finding.epsilon == math.inf


def test_an_epsilon_that_promises_nothing_is_refused() -> None:
    budget = Budget(100.0, 0.0)
    mechanism = make("exponential-vote", Task(budget, 9, 2, 2))
    assert mechanism.epsilon(None, 0.0) > 30
    with pytest.raises(InvalidParameter, match="at most 30"):
        audit(mechanism, budget, n_teachers=9, n_classes=2, questions=5)


@pytest.mark.parametrize(("classes", "teachers"), [(2, 60), (3, 20), (4, 9)])
@pytest.mark.parametrize("sigma", [3.0, 6.0])
def test_noisy_max_pays_for_every_pair_of_histograms(classes: int, teachers: int, sigma: float) -> None:
    noisy = NoisyMax(sigma, 1, classes, 1e-5, 2.0)
    game = Game.of(pairs_of(noisy, teachers, classes), RunEnds(), 1)
    for order, claimed in noisy.per_answer.divergences:
        found = divergence(game, order)
        assert found <= claimed * (1 + 1e-9)
        if classes == 2 and order <= 2 * sigma:
            assert found >= claimed * (1 - 1e-6), "two classes are priced exactly"


@pytest.mark.parametrize("answers", [30, 120])
def test_hockey_stick_accounting_is_above_an_explicit_adversary(answers: int) -> None:
    """The certified epsilon is never below what adaptive play certainly reaches, and not far above it."""
    budget = Budget(2.0, 1e-5)
    noisy = make("noisy-max", Task(budget, 60, 2, answers))
    claimed = noisy.epsilon(None, budget.delta)
    game = Game.of(pairs_of(noisy, 60, 2), RunEnds(answers=answers), answers)
    reached = 0.0
    for epsilon in (0.8 * claimed, 0.9 * claimed, claimed):
        policy = upper_delta(game, epsilon)[1]
        if lower_delta(game, epsilon, policy) > budget.delta:
            reached = epsilon
    assert 0.8 * claimed <= reached < claimed
