"""The log-odds of answers move no further than claimed: against brute force, and on exact laws of tiny samples."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.accounting import Loss
from mapl.errors import InvalidParameter
from mapl.mechanisms.single.gibbs_flip import GibbsFlip
from mapl.noise import ONE
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.subset import FixedSize
from mapl.prediction.predictors.teachers_vote import vote_for
from mapl.prediction.prices.bounded_range import by_span, loss_of_answer, span_of_flipped, span_of_gibbs


def log_odds(q: float) -> float:
    return math.log(q / (1 - q))


@given(st.floats(0.01, 6), st.floats(0, 0.9), st.floats(0.001, 0.49))
@settings(max_examples=60, deadline=None)
def test_no_allowed_pair_of_chances_moves_further(inner: float, eta: float, flip: float) -> None:
    claimed = span_of_flipped(inner, eta, flip)
    t = np.concatenate([np.linspace(0, 1, 401), [1 / (1 + math.exp(inner / 2))]])
    grown = math.exp(inner) * t / (1 + math.expm1(inner) * t)
    q = flip + (1 - 2 * flip) * ((1 - eta) * grown + eta)
    other = flip + (1 - 2 * flip) * (1 - eta) * t
    moved = (np.log(q) - np.log1p(-q) - np.log(other) + np.log1p(-other)).max()
    assert moved <= claimed + 1e-9
    assert moved >= claimed - 1e-9  # the claim is reached


def test_on_exact_laws_of_all_neighbours_of_tiny_samples() -> None:
    n, size, rate, flip = 4, 1, 0.4, 0.1
    subset = FixedSize(size, n)
    claimed = span_of_flipped(2 * rate, subset.share, flip)
    x = np.array([1.5])
    records = list(product((0.0, 1.0, 2.0), (0, 1)))

    def chance(sample: tuple[tuple[float, int], ...]) -> float:
        X, y = np.array([[value] for value, _ in sample]), np.array([label for _, label in sample])
        laws = [
            Thresholds().patterns(X[list(chosen)]).errors(X, y).law(rate, x)
            for chosen in combinations(range(n), size)
        ]
        return flip + (1 - 2 * flip) * math.fsum(laws) / len(laws)

    rest = ((0.0, 0), (1.0, 1), (2.0, 1))
    moved = 0.0
    for others in (rest, ((1.0, 0),) * 3, ((2.0, 1),) * 3):
        odds = [log_odds(chance((*others, record))) for record in records]
        moved = max(moved, max(odds) - min(odds))
    assert 0.3 * claimed < moved <= claimed


def test_the_random_vote_moves_as_far_as_claimed() -> None:
    vote = vote_for(0.7, 9, by="gibbs-flip")
    assert isinstance(vote, GibbsFlip)
    a, f, k = vote.per_vote, vote.per_label, 9
    odds = [Fraction(a * c + f, a * (k - c) + f) for c in range(k + 1)]
    moved = max(math.log(high / low) for low, high in pairwise(odds))
    assert moved == pytest.approx(span_of_gibbs(vote), rel=1e-12)
    assert vote.epsilon_each < span_of_gibbs(vote) < 1.2 * vote.epsilon_each


def test_a_span_is_cheaper_than_a_pure_epsilon_and_never_than_what_it_prices() -> None:
    epsilon, span, order = 0.5, 0.55, 8.0
    assert by_span(epsilon, span).at(order) < Loss.pure(epsilon).at(order)
    assert by_span(epsilon, span).at(math.inf) == epsilon
    for q in np.linspace(0.02, 0.9, 40):  # every pair of bits within both bounds
        moved = min(log_odds(q) + span, log_odds(min(q * math.exp(epsilon), 1 - (1 - q) * math.exp(-epsilon))))
        p = 1 / (1 + math.exp(-moved))
        renyi = math.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (order - 1)
        assert renyi <= by_span(epsilon, span).at(order) + 1e-12
    # Randomised response has span 2 epsilon; priced with epsilon it would be sold below its price.
    p = 1 / (1 + math.exp(-epsilon))
    renyi = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)
    assert renyi > by_span(epsilon, epsilon).at(order)


def test_what_is_not_proved_is_priced_as_pure() -> None:
    X = np.arange(40.0)[:, None]
    told = {
        by: StablePredictor.fit(
            X,
            X[:, 0] > 20,
            Cover(Thresholds()),
            subset=FixedSize(1, 40),
            rate=0.2,
            by=by,
            flip=ONE // 10,
        )
        for by in ("exponential", "permute-and-flip")
    }
    assert loss_of_answer(told["permute-and-flip"]) == told["permute-and-flip"].per_answer
    assert loss_of_answer(told["exponential"]).at(4.0) < told["exponential"].per_answer.at(4.0)


def test_without_flips_there_is_no_span() -> None:
    with pytest.raises(InvalidParameter, match="flip is 0"):
        span_of_flipped(1.0, 0.1, 0.0)
