import numpy as np
import pytest

from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.noise import SeededCoins
from mapl.prediction.auto import METHODS, Question, choose
from mapl.prediction.hypotheses import Halfspaces, Intervals, Stumps, Thresholds


def test_thresholds_and_stumps_take_the_padded_ones_others_the_stable_learner():
    told = choose(2000, 1.0, Thresholds())
    assert told.name == "padded"
    assert set(told.considered) == {"stable", "gibbs-vote", "padded"}
    assert "no better than a coin" in told.refused["two-stage"]
    assert "declare it realizable" in told.refused["realizable-vote"]
    assert float(told.bound) == min(map(float, told.considered.values()))
    assert any("pure epsilon 1, delta 0, if one record is replaced" in text for text in told.bound.assumptions)
    assert choose(2000, 1.0, Stumps(5), adjacency="add-remove").name == "padded"
    other = choose(2000, 1.0, Intervals(), adjacency="add-remove")
    assert other.name == "stable"
    assert "only for thresholds and stumps" in other.refused["padded"]
    assert "replace-one" in other.refused["two-stage"]


def test_a_declared_truth_makes_the_vote_best():
    assert choose(2000, 1.0, Intervals(), realizable=True).name == "realizable-vote"


def test_a_method_that_may_run_is_considered():
    found = choose(10**6, 1.0, Thresholds())
    assert float(found.considered["two-stage"]) > float(found.considered["stable"])
    assert not set(found.considered) & set(found.refused)
    assert set(found.considered) | set(found.refused) == set(METHODS)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", [name for name in METHODS if name != "two-stage"])
def test_every_choice_can_be_fitted_and_keeps_its_epsilon(adjacency, name):
    rng = np.random.default_rng(0)
    X = rng.random((1500, 2))
    y = (X[:, 0] > 0.4).astype(int)
    _, fit = METHODS[name](Question(1500, 2.0, Thresholds(), adjacency, realizable=True))
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


def test_too_few_records_say_how_many_would_do():
    with pytest.raises(CannotCalibrate, match=r"1000 records are too few.*about \d\d,\d\d\d records would do"):
        choose(1000, 1.0, Intervals(), alpha=0.05)
    assert choose(1000, 1.0, Intervals(), alpha=0.6).name == "stable"


def test_bad_requests():
    with pytest.raises(InvalidParameter, match="adjacency"):
        choose(1000, 1.0, Thresholds(), adjacency="swap")
    with pytest.raises(InvalidParameter, match="alpha is -1"):
        choose(1000, 1.0, Thresholds(), alpha=-1.0)
    with pytest.raises(InvalidParameter, match="epsilon is 1e"):
        choose(1000, 1e9, Thresholds())


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_no_teacher_gets_a_shard_that_its_class_refuses(adjacency):
    bound, _ = METHODS["gibbs-vote"](Question(2000, 1.0, Halfspaces(4), adjacency, False))
    largest = Halfspaces(4).most_points(1 << 18)
    assert 2000 / bound.terms["teachers"] <= largest
