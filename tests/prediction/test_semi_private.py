import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from mapl.audit.predictions.stable_twins import select
from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.hypotheses import Intervals, Stumps, Thresholds
from mapl.prediction.predictors.predictor import in_words
from mapl.prediction.predictors.semi_private import SemiPrivate, excess_bound, rate_for

RECORDS = list(product((0.0, 1.0, 2.0), (0, 1)))
PUBLIC = np.array([[0.0], [1.5]])
FALL = Fraction(2, 5)


def release_law(sample, fall, *, by, public=True):
    """The exact chance of every released hypothesis, as a mapping from its value."""
    X = np.array([[x] for x, _ in sample]).reshape(-1, 1)
    y = np.array([label for _, label in sample])
    found = list(Thresholds().patterns(PUBLIC if public else X))
    return dict(
        zip(
            [h.value for h in found],
            select([int((h.predict(X) != y).sum()) for h in found], fall, by=by),
            strict=True,
        )
    )


def worst_ratio(fall, adjacency, *, by, public=True):
    worst = Fraction(1)
    for rest in combinations_with_replacement(RECORDS, 2):
        with_one = [release_law((*rest, one), fall, by=by, public=public) for one in RECORDS]
        if adjacency == "add-remove":
            without = release_law(rest, fall, by=by, public=public)
            both = [(a, without) for a in with_one] + [(without, a) for a in with_one]
        else:
            both = list(product(with_one, repeat=2))
        for one, other in both:
            for value, p in one.items():
                worst = max(worst, p / other[value]) if other.get(value) else math.inf
                if worst == math.inf:
                    return worst
    return worst


@pytest.mark.parametrize("by", ["exponential", "permute-and-flip"])
def test_the_release_is_private_on_all_small_samples(by):
    assert 1 / FALL / 2 < worst_ratio(FALL, "add-remove", by=by) <= 1 / FALL
    assert 1 / FALL < worst_ratio(FALL, "replace-one", by=by) <= 1 / FALL**2


def test_patterns_of_private_points_and_whole_counts_are_caught():
    assert worst_ratio(FALL, "add-remove", by="exponential", public=False) == math.inf
    # Twin: where records are replaced an error costs e^-epsilon, so that the ratio e^epsilon is exceeded.
    assert worst_ratio(FALL, "replace-one", by="exponential") > 1 / FALL


def test_rates_by_adjacency():
    assert rate_for(1.0, adjacency="add-remove") == 1.0
    assert rate_for(1.0, adjacency="replace-one") == 0.5
    with pytest.raises(InvalidParameter, match="add-remove or replace-one"):
        rate_for(1.0, adjacency="swap")


@pytest.mark.parametrize("hypotheses", [Thresholds(), Intervals(), Stumps(2)])
def test_one_release_then_free_predictions(hypotheses):
    rng = np.random.default_rng(0)
    X = rng.random((2000, 2))
    y = (X[:, 0] > 0.4).astype(int)
    public = rng.random((60, 2))
    coins = SeededCoins(1)
    told = SemiPrivate.release(X, y, hypotheses, public=public, epsilon=1.0, adjacency="replace-one", coins=coins)
    best = hypotheses.patterns(public).errors(X, y).best / len(X)
    bound = excess_bound(len(X), told.n_patterns, epsilon=1.0, adjacency="replace-one")
    # The bound holds on average over coins, so one draw gets three times of it.
    assert (told.predict(X) != y).mean() <= best + 3 * bound
    assert told.loss.epsilon(0.0) == pytest.approx(1.0)
    assert told.loss.at(2.0) == pytest.approx(0.25)
    assert "epsilon 1, delta 0" in told.promise
    assert "replaced" in told.promise


def test_the_excess_bound_holds_on_average():
    rng = np.random.default_rng(2)
    for _ in range(10):
        X, y = rng.integers(0, 5, (12, 1)) / 1.0, rng.integers(0, 2, 12)
        found = list(Thresholds().patterns(PUBLIC))
        errors = [int((h.predict(X) != y).sum()) for h in found]
        mean = sum(e * p for e, p in zip(errors, select(errors, FALL, by="exponential"), strict=True))
        bound = excess_bound(12, 3, epsilon=-math.log(FALL), adjacency="add-remove")
        assert float(mean) / 12 <= min(errors) / 12 + bound


def test_printed_promises_are_rounded_up():
    assert "epsilon 0.1001," in in_words(epsilon=0.100049, stability=0.049964, adjacency="replace-one")
    assert "at most 0.04997" in in_words(epsilon=0.100049, stability=0.049964, adjacency="replace-one")
    assert "at most 0.1001 if" in in_words(epsilon=None, stability=0.100049, adjacency="add-remove")
    released = SemiPrivate(Thresholds(), 0.100049, "add-remove", "exponential", 3)
    assert "epsilon 0.1001," in released.promise
