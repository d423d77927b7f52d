import numpy as np
import pytest

from mapl.bounds.df20_private import corollary_1_on_sample
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.candidates import Cover
from mapl.prediction.hypotheses import Halfspaces, Intervals, Rectangles, Stumps, Thresholds, Unions
from mapl.prediction.net import Net
from mapl.prediction.stable import StablePredictor
from mapl.prediction.stable_settings import for_epsilon, for_stability, fresh_excess, log_patterns

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


def test_the_bound_is_that_of_the_papers_and_better_with_odds():
    for n in (1000, 100_000):
        printed = float(corollary_1_on_sample(n, 1.0, kind="thresholds"))
        assert for_epsilon(n, 1.0, Thresholds()).excess == pytest.approx(printed, rel=0.03)
    assert for_epsilon(200, 1.0, Thresholds()).excess < float(corollary_1_on_sample(200, 1.0, kind="thresholds"))
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
    assert fresh_excess(found, 1000, 1) > found.excess


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
