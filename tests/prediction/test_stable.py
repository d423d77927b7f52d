import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from moved_chances import pairs

from mapl.audit.predictions.samples import SampleWorld
from mapl.audit.predictions.stable_twins import ExactStable, by_coins, uniform
from mapl.errors import InvalidData, InvalidParameter
from mapl.noise import ONE, SeededCoins
from mapl.prediction.candidates.candidates import Cover, Trained
from mapl.prediction.hypotheses import Intervals, Rectangles, Stumps, Thresholds
from mapl.prediction.hypotheses.finite import FinitePatterns
from mapl.prediction.predictors.flip import pure_epsilon, stability
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.subset import EachByCoin, FixedSize
from mapl.prediction.prices.poisoning import stable_bound

WORLD = SampleWorld(most=4)
LN2 = math.log(2)
HALF = EachByCoin(ONE // 4)


def law_of(predictor, x):
    """The exact chance of answer 1: over all subsets, by the code's own laws of the draw."""
    n = len(predictor.points)
    fixed = isinstance(predictor.subset, FixedSize)
    subsets = uniform(n, predictor.subset.size) if fixed else by_coins(n, predictor.subset.share)
    total = 0.0
    for chosen, chance in subsets:
        members = list(chosen)
        candidates = predictor.candidates.among(predictor.points[members], predictor.ones[members], SeededCoins(0))
        errors = candidates.errors(predictor.points, predictor.ones)
        total += float(chance) * errors.law(predictor.rate, x, by=predictor.by)
    flip = predictor.flip / ONE
    return (1 - 2 * flip) * total + flip


def arrays(sample):
    return np.array([x for x, _ in sample], dtype=float), np.array([y for _, y in sample])


@pytest.mark.parametrize("by", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("subset", [FixedSize(2, 4), HALF])
@pytest.mark.parametrize("hypotheses", [Thresholds(), Intervals(), Stumps(1)])
def test_the_code_has_the_law_that_the_audit_proves_private(by, subset, hypotheses):
    fixed = isinstance(subset, FixedSize)
    exact = ExactStable(
        world=WORLD,
        hypotheses=hypotheses,
        subsets=(lambda n: uniform(n, 2)) if fixed else (lambda n: by_coins(n, Fraction(1, 4))),
        fall=Fraction(1, 2),
        flip=Fraction(1, 16),
        by=by,
    )
    rng = np.random.default_rng(3)
    for _ in range(2):
        sample = tuple(WORLD.records[k] for k in rng.integers(0, 6, size=4))
        told = StablePredictor.fit(
            *arrays(sample), Cover(hypotheses), subset=subset, rate=LN2, by=by, flip=ONE // 16
        )
        for question, p in list(zip(WORLD.questions, exact(sample), strict=True))[1::3]:
            assert law_of(told, np.array(question)) == pytest.approx(float(p), abs=1e-12)


@pytest.mark.parametrize("subset", [FixedSize(2, 4), HALF])
def test_answers_follow_the_law(subset):
    X, y = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 1, 0, 1])
    told = StablePredictor.fit(X, y, Cover(Thresholds()), subset=subset, rate=0.8, flip=ONE // 10)
    coins = SeededCoins(1)
    for x in (0.5,):
        answers = [told.answer(np.array([x]), coins) for _ in range(600)]
        assert abs(np.mean(answers) - law_of(told, np.array([x]))) < 5 * 0.5 / math.sqrt(600)


def test_subsets_are_uniform_or_coin_by_coin():
    coins = SeededCoins(2)
    drawn = [tuple(FixedSize(2, 4).draw(4, coins)) for _ in range(3000)]
    counts = [drawn.count(pair) for pair in permutations(range(4), 2)]  # in either order
    assert sum(counts) == 3000
    assert max(abs(c - 250) for c in counts) < 5 * math.sqrt(250)
    sizes = [len(HALF.draw(40, coins)) for _ in range(500)]
    assert abs(np.mean(sizes) - 10) < 5 * math.sqrt(7.5 / 500)
    assert EachByCoin.with_share(0.1).share <= Fraction(0.1)
    assert FixedSize(2, 5).share_of(1) == Fraction(2, 5)
    assert FixedSize(2, 5).share_of(2) == 1 - Fraction(3, 10)
    assert FixedSize(2, 5).share_of(9) == 1
    assert HALF.share_of(2) >= 1 - Fraction(9, 16)
    assert float(HALF.share_of(2)) == pytest.approx(7 / 16)


def test_one_way_the_added_record_costs_eta_and_the_other_way_a_factor():
    eta, fall = Fraction(1, 3), Fraction(1, 2)
    world = SampleWorld(values=(0.0, 1.0), asked=(-1.0, 0.0, 0.5, 1.0), most=4)
    law = ExactStable(world=world, hypotheses=Thresholds(), subsets=lambda n: by_coins(n, eta), fall=fall)
    needs_eta = False
    for one, other, _, p, q in pairs(law, adjacency="add-remove", world=world):
        for mine, theirs in ((p, q), (1 - p, 1 - q)):
            if len(one) > len(other):
                assert mine <= (1 - eta) * theirs / fall + eta
                needs_eta |= mine > theirs / fall
            else:
                assert mine <= theirs / fall / (1 - eta)
    assert needs_eta


class Says:
    def __init__(self, label):
        self.label = label

    def predict(self, X):
        return np.full(len(X), self.label)


class OnlyOne:
    """The worst candidates: both constants, or only the label of the special record if the subset has it."""

    name = "worst"

    def among(self, T, labels, coins):
        special = labels[T[:, 0] == 9]
        return FinitePatterns((Says(int(special[0])),) if len(special) else (Says(0), Says(1)), 1)


def test_the_claims_are_reached_by_the_worst_candidates():
    """Replace-one: no smaller stability could be claimed."""
    X = np.array([[9.0], [0.0], [0.0], [1.0], [1.0]])
    y = np.array([1, 0, 0, 1, 1])
    other = np.array([0, 0, 0, 1, 1])
    laws = []
    for labels in (y, other):
        told = StablePredictor.fit(X, labels, OnlyOne(), subset=FixedSize(1, 5), rate=LN2)
        laws.append(law_of(told, np.array([0.0])))
    assert laws[0] - laws[1] == pytest.approx(told.stability, abs=1e-12)
    assert told.stability == pytest.approx(1 / 5 + 4 / 5 / 3)


def test_what_is_claimed_is_what_the_formulas_say():
    X, y = np.zeros((10, 1)), np.zeros(10)
    replaced = StablePredictor.fit(X, y, Cover(Thresholds()), subset=FixedSize(2, 10), rate=0.1)
    assert (replaced.inner, replaced.epsilon, replaced.adjacency) == (0.2, None, "replace-one")
    assert stability(0.2, Fraction(1, 5), odds=True) <= replaced.stability < 0.23996670
    assert replaced.per_answer.delta == pytest.approx(0.2)
    assert replaced.per_answer.at(2.0) == pytest.approx(2 * 0.2**2 / 8)
    assert "one record is replaced" in replaced.promise
    added = StablePredictor.fit(
        X, y, Cover(Thresholds()), subset=HALF, rate=0.1, by="permute-and-flip", flip=ONE // 8
    )
    assert added.inner == 0.1
    assert added.epsilon == pure_epsilon(0.1, Fraction(1, 4), Fraction(1, 8))
    assert added.per_answer.epsilon(0.0) == pytest.approx(added.epsilon)
    assert added.stability == pytest.approx(0.75 * stability(0.1, 0.25, adjacency="add-remove"))
    assert "epsilon" in added.promise
    assert "delta 0" in added.promise
    assert repr(added) == "StablePredictor(private)"


def test_the_loss_of_an_added_record_covers_both_directions():
    told = StablePredictor.fit(np.zeros((4, 1)), np.zeros(4), Cover(Thresholds()), subset=HALF, rate=0.5)
    assert told.per_answer.at(math.inf) == pytest.approx(0.5 + math.log(4 / 3))
    assert told.per_answer.delta == pytest.approx(0.25)


def test_poisoning_moves_a_chosen_question_by_no_more_than_promised():
    """Every way to replace two of five records, for every question; and the general bound is looser."""
    values, labels = (0.0, 1.0), (0, 1)
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1, 1])

    def told(points, ones):
        return StablePredictor.fit(points, ones, Cover(Thresholds()), subset=FixedSize(1, 5), rate=0.3)

    honest = {x: law_of(told(X, y), np.array([x])) for x in (0.5, 1.0)}
    worst = 0.0
    for planted in product(product(values, labels), repeat=2):
        X2, y2 = X.copy(), y.copy()
        for place, (value, label) in zip((4, 0), planted, strict=True):
            X2[place], y2[place] = value, label
        for x, p in honest.items():
            worst = max(worst, abs(law_of(told(X2, y2), np.array([x])) - p))
    claimed = told(X, y).stability_against(2)
    assert 0.19 < worst <= claimed <= stable_bound(2, told(X, y).stability)
    assert told(X, y).stability_against(5) == 1, "all records are planted"
    with pytest.raises(InvalidParameter, match="gamma is 2"):
        stable_bound(1, 2.0)


def test_models_trained_on_the_subset_are_candidates():
    seen = []

    def train(X, y, seed):
        seen.append((len(X), seed))
        return [Says(int(y.mean() > 0.5)), Says("no label"), object()]

    X, y = np.arange(20.0)[:, None], np.ones(20, dtype=int)
    told = StablePredictor.fit(X, y, Trained(train), subset=FixedSize(5, 20), rate=2.0)
    coins = SeededCoins(4)
    assert [told.answer(np.array([3.0]), coins) for _ in range(5)] == [1] * 5
    assert {size for size, _ in seen} == {5}
    assert len({seed for _, seed in seen}) == 5, "a fresh seed for every answer"


def test_training_that_fails_leaves_the_constants():
    def fails(X, y, seed):
        raise RuntimeError("a value of a row")

    told = StablePredictor.fit(np.zeros((20, 1)), np.ones(20), Trained(fails), subset=FixedSize(5, 20), rate=2.0)
    assert told.answer(np.array([0.0]), SeededCoins(0)) == 1
    alone = Trained(lambda X, y, seed: [None]).among(np.zeros((1, 1)), np.zeros(1), SeededCoins(0))
    assert len(alone) == 3
    assert alone.errors(np.zeros((2, 1)), np.array([0, 1])).best == 1


def test_an_empty_subset_answers_too():
    told = StablePredictor.fit(
        np.zeros((2, 1)), np.ones(2), Cover(Thresholds()), subset=EachByCoin(1), rate=1.0, flip=ONE // 3
    )
    assert told.answer(np.array([0.0]), SeededCoins(1)) in (0, 1)


def test_a_class_too_large_to_list_is_refused_by_public_sizes_only():
    X, y = np.random.default_rng(0).random((3000, 2)), np.zeros(3000)
    cover = Cover(Rectangles((0, 1)))
    with pytest.raises(InvalidParameter, match=r"too many points.*stumps"):
        StablePredictor.fit(X, y, cover, subset=FixedSize(3000, 3000), rate=1.0)
    subset = FixedSize(2000, 3000)
    with pytest.raises(InvalidParameter, match=r"lists every pattern.*smaller subset"):
        StablePredictor.fit(X, y, Cover(Intervals()), subset=subset, rate=1.0, by="permute-and-flip")
    sizes = []

    class Counted:
        name, vc, n_features = "counted", 1, 2

        def patterns(self, T):
            sizes.append(len(T))
            if len(T) > 5:
                raise InvalidParameter("T has too many points.")
            return Thresholds().patterns(T)

    told = StablePredictor.fit(X, y, Cover(Counted()), subset=EachByCoin(ONE // 2), rate=1.0)
    assert told.answer(X[0], SeededCoins(0)) == 0, "how many records came by coins stays unsaid"
    assert sizes[-1] <= 5 < sizes[0]


def test_bad_input_is_refused_without_quoting_it():
    X, y = np.zeros((4, 2)), np.zeros(4)
    cover = Cover(Thresholds())
    with pytest.raises(InvalidParameter, match="at most the 4 records"):
        FixedSize(5, 4)
    with pytest.raises(InvalidParameter, match="number of records is not the one"):
        StablePredictor.fit(X, y, cover, subset=FixedSize(2, 9), rate=1.0).answer(np.zeros(2), SeededCoins(0))
    with pytest.raises(InvalidParameter, match="rate is"):
        StablePredictor.fit(X, y, cover, subset=FixedSize(2, 4), rate=0.0)
    with pytest.raises(InvalidParameter, match="rate is"):
        StablePredictor.fit(X, y, cover, subset=FixedSize(2, 4), rate=500.0)
    with pytest.raises(InvalidParameter, match="below 1/2"):
        StablePredictor.fit(X, y, cover, subset=FixedSize(2, 4), rate=1.0, flip=ONE // 2)
    with pytest.raises(InvalidData, match="0 and 1"):
        StablePredictor.fit(X, y + 7, cover, subset=FixedSize(2, 4), rate=1.0)
    with pytest.raises(InvalidParameter, match="3 features and the sample 2"):
        StablePredictor.fit(X, y, cover, subset=FixedSize(2, 4), rate=1.0).answer(np.zeros(3), SeededCoins(0))
    with pytest.raises(InvalidParameter, match="eta is 1"):
        EachByCoin.with_share(1.0)
