import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mapl.audit import Verdict
from mapl.audit.predictions.samples import SampleWorld, audit_predictor
from mapl.errors import InvalidParameter
from mapl.noise import ONE, SeededCoins
from mapl.prediction.candidates.candidates import Constant
from mapl.prediction.candidates.consistent import Consistent
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.predictors.teachers_vote import VOTES, TeachersVote, learnt, shards_of, vote_for
from mapl.types import Tallies

EPSILON = 0.9
K = 3
WORLD = SampleWorld(values=(0.0, 1.0), asked=(0.0, 1.0), most=4)
PURE = [name for name in VOTES if name != "laplace-max"]


def excitable(X, y, coins):
    """A teacher that says whatever a single record could change: whether its shard has more ones than zeros."""
    return Constant(int(2 * y.sum() > len(y)))


def says(labels):
    return int(2 * sum(labels) > len(labels))


def exact(vote, assignments, says=says):
    """The law over the shards that records may fall into, with the vote's own integers."""

    def of(sample):
        total, number = Fraction(0), 0
        for shards in assignments(len(sample)):
            teachers = [says([r[1] for r, s in zip(sample, shards, strict=True) if s == j]) for j in range(K)]
            total += fraction_of(vote, sum(teachers))
            number += 1
        return [total / number] * len(WORLD.questions)

    return of


def fraction_of(vote, ones):
    """The chance of label 1, from the integers."""
    counts = [K - ones, ones]
    gaps = [max(counts) - c for c in counts]
    if vote.name == "gibbs-flip":
        weights = [vote.per_vote * c + vote.per_label for c in counts]
    elif vote.name == "exponential-vote":
        weights = [int(vote.weights[min(g, len(vote.weights) - 1)]) for g in gaps]
    else:
        behind = Fraction(int(vote.accepting[min(max(gaps), len(vote.accepting) - 1)]), 2 * ONE)
        return behind if counts[1] < counts[0] else 1 - behind
    return Fraction(weights[1], sum(weights))


@pytest.mark.parametrize("by", PURE)
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_one_record_changes_one_teacher_and_costs_the_vote(by, adjacency):
    vote = vote_for(EPSILON, K, by=by)
    places = {
        "replace-one": lambda n: [tuple(range(n))],
        "add-remove": lambda n: product(range(K), repeat=n),
    }[adjacency]
    law = exact(vote, (lambda n: [[i % K for i in places(n)[0]]]) if adjacency == "replace-one" else places)
    found = audit_predictor(law, EPSILON, name=by, adjacency=adjacency, world=WORLD)
    assert found.verdict is Verdict.within
    assert found.renyi_found > 0.2 * EPSILON
    assert vote.law(Tallies(np.array([[1, 2]])))[0, 1] == pytest.approx(float(fraction_of(vote, 2)))


def test_shards_by_place_are_caught_where_records_are_added():
    vote = vote_for(EPSILON, K)
    by_place = exact(vote, lambda n: [[i % K for i in range(n)]], says=lambda labels: sum(labels) % 2)
    world = SampleWorld(values=(0.0, 1.0), asked=(0.0, 1.0), most=7)
    twin = audit_predictor(by_place, EPSILON, name="by place", adjacency="add-remove", world=world)
    assert twin.verdict is Verdict.violated


def test_softmax_of_whole_counts_is_caught():
    twice = vote_for(2 * EPSILON, K, by="exponential-vote")
    law = exact(twice, lambda n: [[i % K for i in range(n)]])
    found = audit_predictor(law, EPSILON, name="softmax(epsilon * counts)", adjacency="replace-one", world=WORLD)
    assert found.verdict is Verdict.violated


def test_shards_depend_on_no_other_record():
    assert shards_of(7, 3, adjacency="replace-one", coins=SeededCoins(0)).tolist() == [0, 1, 2, 0, 1, 2, 0]
    drawn = shards_of(3000, 3, adjacency="add-remove", coins=SeededCoins(0))
    assert np.abs(np.bincount(drawn) - 1000).max() < 5 * math.sqrt(1000)
    other_coins = shards_of(3000, 3, adjacency="add-remove", coins=SeededCoins(1))
    assert abs(np.count_nonzero(drawn != other_coins) - 2000) < 150  # coins decide, places do not


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("by", VOTES)
def test_consistent_teachers_find_the_threshold(adjacency, by):
    X = np.random.default_rng(0).random((600, 1))
    y = (X[:, 0] > 0.4).astype(int)
    vote = vote_for(2.0, 9, by=by, delta=1e-9 if by == "laplace-max" else 0.0)
    coins = SeededCoins(1)
    told = TeachersVote.fit(
        X, y, Consistent(Thresholds()).learn, vote=vote, n_teachers=9, adjacency=adjacency, coins=coins
    )
    assert told.votes(np.array([0.9])).counts.tolist() == [[0, 9]]
    assert np.mean([told.answer(np.array([0.05]), coins) for _ in range(60)]) < 0.25
    assert told.adjacency in told.promise or "one record is" in told.promise
    assert "delta" in told.promise
    assert (told.epsilon is None) == (by == "laplace-max")
    assert told.stability == pytest.approx(math.tanh(1.0), abs=1e-6)
    assert told.per_answer.delta == vote.per_answer.delta
    assert repr(told) == "TeachersVote(private)"


def test_a_teacher_that_fails_says_zero():
    def fails(X, y, coins):
        raise RuntimeError("a row")

    teacher = learnt(fails, np.zeros((3, 1)), np.zeros(3), SeededCoins(0))
    assert teacher.predict(np.zeros((2, 1))).tolist() == [0, 0]
    garbage = learnt(lambda X, y, coins: "no model", np.zeros((3, 1)), np.zeros(3), SeededCoins(0))
    assert garbage.predict(np.zeros((2, 1))).tolist() == [0, 0]


def test_an_unknown_vote_is_refused():
    with pytest.raises(InvalidParameter, match="choose one of"):
        vote_for(1.0, 3, by="majority")


def test_a_printed_delta_is_rounded_up_as_epsilon_is():
    vote = vote_for(0.100049, K, by="laplace-max", delta=1.234e-6)
    told = TeachersVote((Constant(0),) * K, vote, 1, "replace-one")
    # What is printed is never below what is promised.
    said = told.promise.split(", delta ")
    assert float(said[0].split()[-1]) >= vote.epsilon_each
    assert float(said[1].split(", if")[0]) >= vote.per_answer.delta > 0
