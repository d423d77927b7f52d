"""What each predictor promises before a record is read: it can be fitted, and keeps its epsilon."""

import numpy as np
import pytest

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.hypotheses import Halfspaces, Intervals, Thresholds
from mapl.prediction.prices.auto import METHODS, PredictorQuestion


def asked(n, hypotheses, adjacency="replace-one", *, realizable=False):
    return PredictorQuestion(n, 1.0, hypotheses, adjacency, realizable)


def test_thresholds_have_the_least_bound_by_padded_stumps():
    bounds = {name: METHODS[name](asked(2000, Thresholds()))[0] for name in ("stable", "gibbs-vote", "padded")}
    assert min(bounds, key=lambda name: float(bounds[name])) == "padded"
    said = bounds["padded"].assumptions
    assert any("pure epsilon 1, delta 0, if one record is replaced" in text for text in said)


@pytest.mark.parametrize(
    ("name", "question", "words"),
    [
        ("two-stage", asked(2000, Thresholds()), "no better than a coin"),
        ("two-stage", asked(2000, Intervals(), "add-remove"), "replace-one"),
        ("realizable-vote", asked(2000, Thresholds()), "declare it realizable"),
        ("padded", asked(2000, Intervals()), "only for thresholds and stumps"),
    ],
)
def test_a_predictor_that_does_not_fit_says_why(name, question, words):
    with pytest.raises((InvalidParameter, CannotCalibrate), match=words):
        METHODS[name](question)


def test_a_declared_truth_makes_the_vote_best():
    question = asked(2000, Intervals(), realizable=True)
    others = [float(METHODS[name](question)[0]) for name in ("stable", "gibbs-vote")]
    assert float(METHODS["realizable-vote"](question)[0]) < min(others)


def test_two_stages_are_better_for_very_many_records_only():
    question = asked(10**6, Thresholds())
    assert float(METHODS["two-stage"](question)[0]) > float(METHODS["stable"](question)[0])


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", [name for name in METHODS if name != "two-stage"])
def test_every_choice_can_be_fitted_and_keeps_its_epsilon(adjacency, name):
    rng = np.random.default_rng(0)
    X = rng.random((1500, 2))
    y = (X[:, 0] > 0.4).astype(int)
    _, fit = METHODS[name](PredictorQuestion(1500, 2.0, Thresholds(), adjacency, realizable=True))
    coins = SeededCoins(1)
    told = fit(X, y, coins)
    assert 1.99 < told.epsilon <= 2.0
    assert told.adjacency == adjacency
    assert 0 < told.stability <= np.tanh(1.0) + 1e-9
    assert told.per_answer.epsilon(0.0) <= 2.0 + 1e-9
    assert "delta 0" in told.promise
    answers = [[told.answer(np.array([v, 0.5]), coins) for _ in range(20)] for v in (0.05, 0.95)]
    assert np.mean(answers[0]) < 0.4 < 0.6 < np.mean(answers[1])
    assert "private" in repr(told)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_no_teacher_gets_a_shard_that_its_class_refuses(adjacency):
    bound, _ = METHODS["gibbs-vote"](PredictorQuestion(2000, 1.0, Halfspaces(4), adjacency, False))
    largest = Halfspaces(4).most_points(1 << 18)
    assert 2000 / bound.terms["teachers"] <= largest
