from itertools import combinations

import numpy as np
import pytest

from mapl.bounds.df20.private import corollary_1_on_sample
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.candidates.net import Net
from mapl.prediction.hypotheses import Halfspaces, Intervals, Rectangles, Stumps, Thresholds, Unions
from mapl.prediction.predictors.flip import flip_for
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.stable_settings import (
    for_epsilon,
    for_stability,
    fresh_excess,
    log_patterns,
    net_loss,
)

BOTH = ("add-remove", "replace-one")


def made(settings, X, y, hypotheses):
    return StablePredictor.fit(
        X, y, Cover(hypotheses), subset=settings.subset, rate=settings.rate, by=settings.by, flip=settings.flip
    )


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("by", ["exponential", "permute-and-flip"])
def test_the_claim_is_what_was_asked_for(adjacency, by):
    n = 500
    X, y = np.zeros((n, 1)), np.zeros(n)
    for epsilon in (0.05, 1.0, 8.0):
        found = for_epsilon(n, epsilon, Thresholds(), adjacency=adjacency, by=by)
        assert found.adjacency == adjacency
        assert 0.999 * epsilon < made(found, X, y, Thresholds()).epsilon <= epsilon
    for gamma in (0.01, 0.3):
        found = for_stability(n, gamma, Thresholds(), adjacency=adjacency, by=by)
        assert 0.5 * gamma < made(found, X, y, Thresholds()).stability <= gamma
        assert found.flip == 0


def test_the_bound_is_far_below_that_of_the_papers_and_better_with_odds():
    for n in (30, 100, 1000, 100_000):
        printed = float(corollary_1_on_sample(n, 1.0, kind="thresholds"))
        assert for_epsilon(n, 1.0, Thresholds()).excess < printed / 2
    assert for_epsilon(1000, 1.0, Halfspaces(2)).excess < float(corollary_1_on_sample(1000, 1.0, kind="any", vc=3))
    by_odds, pure = (for_epsilon(100, 1.0, Intervals(), by=by) for by in ("exponential", "permute-and-flip"))
    assert by_odds.excess < pure.excess
    added = for_epsilon(1000, 1.0, Intervals(), adjacency="add-remove")
    assert added.excess < for_epsilon(1000, 1.0, Intervals()).excess


def test_more_records_more_epsilon_and_smaller_classes_have_smaller_bounds():
    excesses = [for_epsilon(n, 1.0, Thresholds()).excess for n in (100, 1000, 10_000)]
    assert excesses == sorted(excesses, reverse=True)
    assert for_epsilon(1000, 2.0, Thresholds()).excess < for_epsilon(1000, 1.0, Thresholds()).excess
    assert for_epsilon(1000, 1.0, Stumps(1)).excess < for_epsilon(1000, 1.0, Stumps(50)).excess
    assert for_epsilon(1000, 1.0, Unions(1)).excess < for_epsilon(1000, 1.0, Unions(3)).excess
    found = for_epsilon(1000, 1.0, Thresholds())
    assert fresh_excess(found, 1000, Thresholds()) > found.excess


@pytest.mark.parametrize(
    "hypotheses", [Thresholds(), Intervals(), Unions(2), Stumps(1), Stumps(2), Rectangles((0, 1)), Halfspaces(2)]
)
@pytest.mark.parametrize("adjacency", BOTH)
def test_the_best_of_a_subset_is_as_near_to_the_best_as_the_bound_says(hypotheses, adjacency):
    """All subsets of small samples with many equal values: the mean loss of the best pattern, exactly."""
    rng = np.random.default_rng(5)
    n = 6
    for _ in range(2):
        X, y = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(0, 2, n)
        lost = {
            chosen: hypotheses.patterns(X[list(chosen)]).errors(X, y).best
            for size in range(n + 1)
            for chosen in combinations(range(n), size)
        }
        best = lost[tuple(range(n))]
        for size in (1, 2, 4, 5, 6):
            if adjacency == "replace-one":
                found = np.mean([errors - best for chosen, errors in lost.items() if len(chosen) == size])
            else:
                eta = size / n * (size < n) + (size == n) * (1 - 2.0**-20)
                found = sum(
                    (errors - best) * eta ** len(chosen) * (1 - eta) ** (n - len(chosen))
                    for chosen, errors in lost.items()
                )
                size = eta * n
            assert found / n <= net_loss(n, hypotheses, size, adjacency) + 1e-12


def test_few_records_are_all_looked_at_and_flips_alone_are_private():
    """With so few records nothing beats the best rule with a private flip: no subset is worth its error."""
    found = for_epsilon(30, 4.0, Stumps(10))
    assert (found.subset.size, found.subset.share) == (30, 1)
    told = made(found, np.zeros((30, 10)), np.zeros(30), Stumps(10))
    assert 3.999 < told.epsilon <= 4.0
    assert found.excess < 0.03
    added = for_epsilon(30, 4.0, Thresholds(), adjacency="add-remove")
    assert 0.99 < added.subset.share < 1
    assert made(added, np.zeros((30, 1)), np.zeros(30), Thresholds()).epsilon <= 4.0


def test_no_other_size_has_a_smaller_bound_at_small_n():
    for n, epsilon in ((40, 1.0), (100, 0.5)):
        found = for_epsilon(n, epsilon, Thresholds())
        alone = [
            net_loss(n, Thresholds(), size, "replace-one") + flip_for(epsilon, size / n) for size in range(1, n + 1)
        ]
        # What any size loses for sure, whatever the rate of the draw, is the least that a search could reach.
        assert min(alone) < found.excess < min(alone) + 0.15


def test_a_subset_by_coins_seldom_has_more_patterns_than_counted():
    n, size = 1000, 50
    counted = np.exp(log_patterns(Thresholds(), n, size, "add-remove"))
    sizes = np.random.default_rng(0).binomial(n, size / n, 100_000)
    assert (sizes + 1 > counted).mean() <= 1 / n
    assert counted < 2 * size


@pytest.mark.parametrize("adjacency", BOTH)
def test_the_error_on_the_sample_is_within_the_bound(adjacency):
    rng = np.random.default_rng(1)
    n = 400
    X = rng.random((n, 1))
    y = ((X[:, 0] > 0.4) ^ (rng.random(n) < 0.1)).astype(int)
    found = for_epsilon(n, 2.0, Thresholds(), adjacency=adjacency)
    told = made(found, X, y, Thresholds())
    coins = SeededCoins(0)
    asked = rng.integers(0, n, 200)
    wrong = np.mean([told.answer(X[i], coins) != y[i] for i in asked])
    best = Thresholds().patterns(X).errors(X, y).best / n
    assert wrong <= best + found.excess + 3 * 0.5 / np.sqrt(200)
    assert wrong < 0.4


@pytest.mark.parametrize("hypotheses", [Rectangles((0, 1)), Halfspaces(2), Halfspaces(3)])
def test_subsets_stay_as_small_as_the_class_can_list(hypotheses):
    settings = for_epsilon(100_000, 1.0, hypotheses)
    Cover(hypotheses).refuse_beyond(settings.subset.size)
    assert settings.subset.size > 30
    with pytest.raises(InvalidParameter, match="too many points"):
        Cover(hypotheses).refuse_beyond(50_000)


def test_too_few_records_and_bad_numbers_say_what_to_do():
    with pytest.raises(CannotCalibrate, match="at least 11 records"):
        for_stability(8, 0.1, Thresholds())
    with pytest.raises(InvalidParameter, match="3 to"):
        for_epsilon(2, 1.0, Thresholds())
    with pytest.raises(InvalidParameter, match="per answer"):
        for_epsilon(100, 1e-9, Thresholds())
    with pytest.raises(InvalidParameter, match="gamma is 1"):
        for_stability(100, 1.0, Thresholds())
    with pytest.raises(InvalidParameter, match="class itself"):
        for_epsilon(100, 1.0, Net(Thresholds(), 0.1))
