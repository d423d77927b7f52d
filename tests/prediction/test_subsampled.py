import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from mapl.accounting import Loss
from mapl.audit import Verdict
from mapl.audit.predictions.samples import SampleWorld, audit_predictor
from mapl.audit.predictions.stable_twins import by_coins, uniform
from mapl.errors import GuaranteeBroken
from mapl.noise import ONE, SeededCoins
from mapl.prediction.predictors.subsampled import Subsampled, amplify
from mapl.prediction.predictors.subset import EachByCoin, FixedSize
from mapl.prediction.predictors.teachers_vote import vote_for
from mapl.types import Tallies

WORLD = SampleWorld(values=(0.0, 1.0), asked=(0.0, 1.0), most=4)


def loud(labels, *, grown):
    """The most outspoken predictor of epsilon ln(grown): is there any label 1, told by randomised response."""
    says = Fraction(grown, grown + 1)
    return says if any(labels) else 1 - says


def law(subsets, grown):
    def of(sample):
        p = sum(
            (c * loud([sample[i][1] for i in some], grown=grown) for some, c in subsets(len(sample))), Fraction(0)
        )
        return [p] * len(WORLD.questions)

    return of


@pytest.mark.parametrize("grown", [2, 20])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_part_of_the_records_costs_less_and_half_of_that_is_caught(grown, adjacency):
    eta = Fraction(1, 2) if adjacency == "replace-one" else Fraction(1, 4)
    subsets = (lambda n: uniform(n, n // 2)) if adjacency == "replace-one" else (lambda n: by_coins(n, eta))
    ratio = 1 + eta * (grown - 1)
    assert amplify(math.log(grown), eta) == pytest.approx(math.log(ratio))
    name = "subsampled"
    found = audit_predictor(
        law(subsets, grown), math.log(ratio), name=name, bound=ratio, adjacency=adjacency, world=WORLD
    )
    assert found.verdict is Verdict.within
    # A single 1 among zeros reaches the formula where records come by coins.
    assert found.renyi_found > (0.99 if adjacency == "add-remove" else 0.5) * math.log(ratio)
    half = 1 + eta / 2 * (grown - 1)
    twin = audit_predictor(
        law(subsets, grown), math.log(half), name=name, bound=half, adjacency=adjacency, world=WORLD
    )
    assert twin.verdict is Verdict.violated


class Loud:
    name = "loud"
    stability = 1 / 3
    promise = "none"
    per_answer = Loss.pure(math.log(2))

    def __init__(self, y, adjacency="replace-one", epsilon=0.7):
        self.y, self.adjacency, self.epsilon = y, adjacency, epsilon

    def answer(self, x, coins):
        p = loud(self.y, grown=2)
        return int(coins.flip(np.array([int(p * ONE)]))[0])


def test_answers_come_from_fresh_subsets():
    X, y = np.zeros((8, 1)), np.array([1, 0, 0, 0, 0, 0, 0, 0])
    sizes = []

    def make(T, labels):
        sizes.append(len(T))
        return Loud(labels)

    told = Subsampled.fit(X, y, make, subset=FixedSize(2, 8), inner=0.7)
    coins = SeededCoins(0)
    answers = [told.answer(X[0], coins) for _ in range(3000)]
    assert set(sizes) == {2}
    assert abs(np.mean(answers) - (1 / 3 + 1 / 4 / 3)) < 5 * 0.5 / math.sqrt(3000)
    assert told.epsilon == pytest.approx(math.log1p(math.expm1(0.7) / 4))
    assert told.stability == pytest.approx(math.tanh(0.35) / 4)
    assert told.per_answer.epsilon(0.0) == pytest.approx(told.epsilon)
    assert "replaced" in told.promise
    assert repr(told) == "Subsampled(private)"


@pytest.mark.parametrize("other", [{"adjacency": "add-remove"}, {"epsilon": 0.8}, {"epsilon": None}])
def test_a_predictor_that_promises_less_is_refused(other):
    X, y = np.zeros((8, 1)), np.zeros(8)
    told = Subsampled.fit(X, y, lambda T, labels: Loud(labels, **other), subset=FixedSize(2, 8), inner=0.7)
    with pytest.raises(GuaranteeBroken, match="promises less"):
        told.answer(X[0], SeededCoins(0))


def test_coins_choose_for_added_records():
    told = Subsampled.fit(
        np.zeros((8, 1)), np.zeros(8), lambda T, y: Loud(y, "add-remove"), subset=EachByCoin(ONE // 4), inner=0.7
    )
    assert told.adjacency == "add-remove"
    assert told.answer(np.zeros(1), SeededCoins(0)) in (0, 1)


def good(first, second):
    """A shard's vote that looks at the order of its two records; -1 is the record that was replaced."""
    return (first == 0) | ((first == 1) & (second - first == 5))


def voted(sequences, zero):
    """The exact chance of answer 1 of four teachers on shards by place, for each order of the records' values."""
    values = np.where(sequences == 0, zero, sequences)
    ones = sum(good(values[:, j], values[:, j + 4]).astype(int) for j in range(4))
    vote = vote_for(1.0, 4)
    laws = np.array([vote.law(Tallies(np.array([[4 - k, k]])))[0, 1] for k in range(5)])
    return float(laws[ones].mean()), vote.epsilon_each


def test_sorted_subsets_would_break_the_claim_for_shards_and_random_order_does_not():
    claim = amplify(voted(np.zeros((1, 8)), 0)[1], Fraction(8, 9))
    ordered = np.array(list(combinations(range(9), 8)))
    shuffled = np.array(list(permutations(range(9), 8)))
    assert math.log(voted(ordered, 0)[0] / voted(ordered, -1)[0]) > claim
    assert math.log(voted(shuffled, 0)[0] / voted(shuffled, -1)[0]) <= claim


class Dealt(SeededCoins):
    """Coins whose numbers below bounds are given."""

    def __init__(self, numbers):
        super().__init__(0)
        self.numbers = numbers

    def below(self, bounds):
        return np.array(self.numbers)


def test_every_order_of_every_subset_is_drawn_equally_often():
    dealt = [(a, b, c) for a in range(5) for b in range(4) for c in range(3)]
    drawn = sorted(tuple(FixedSize(3, 5).draw(5, Dealt(numbers)).tolist()) for numbers in dealt)
    assert drawn == sorted(permutations(range(5), 3))


def test_what_making_a_predictor_says_of_records_does_not_leave():
    def make(T, y):
        raise ValueError(f"the row {T}")

    told = Subsampled.fit(np.full((8, 1), 42.0), np.zeros(8), make, subset=EachByCoin(ONE // 4), inner=0.7)
    with pytest.raises(GuaranteeBroken, match="and of none") as failure:
        told.answer(np.zeros(1), SeededCoins(0))
    assert failure.value.__suppress_context__
    assert "42" not in str(failure.value)
