"""DF20 Theorem 2 on tiny samples: every step of its proof, the whole claim, and the twins that break it."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from mapl.audit import Verdict
from mapl.audit.predictions.samples import SampleWorld, audit_predictor
from mapl.audit.predictions.stable_twins import select, uniform
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.noise import ONE, SeededCoins
from mapl.prediction.candidates.candidates import Constant
from mapl.prediction.candidates.net import Net
from mapl.prediction.hypotheses import Finite, Halfspaces, Intervals, Stumps, Thresholds
from mapl.prediction.predictors.flip import pure_epsilon
from mapl.prediction.predictors.two_stage import TwoStage, TwoStageSettings, family_of, pays_from, settings_for

FALL = Fraction(4, 5)
"""What an error costs in the draw that relabels: e^-rate."""
TRAIL = Fraction(3, 4)
"""What a vote behind costs: e^(-vote/2)."""
TEACHERS = 2
WORLD = SampleWorld(values=(0.0, 1.0, 2.0), asked=(0.0, 0.5, 1.0, 2.0), most=3)
CLASS = Thresholds()
RATE, VOTE = -math.log(FALL), -2 * math.log(TRAIL)
FLIP = Fraction(1, 8)


@cache
def teacher(points, labels):
    """The chance of label 1 for every question, of a random consistent hypothesis of one shard."""
    X, asked = np.array(points).reshape(-1, 1), np.array(WORLD.questions)
    fitting = [h for h in CLASS.patterns(X) if h.predict(X).tolist() == list(labels)]
    assert fitting
    return tuple(Fraction(int(sum(h.predict(asked)[i] for h in fitting)), len(fitting)) for i in range(len(asked)))


@cache
def voted(points, labels, trail):
    """The private vote of the teachers on shards by place."""
    laws = [teacher(points[j::TEACHERS], labels[j::TEACHERS]) for j in range(TEACHERS)]
    behind = trail**TEACHERS / 2
    found = []
    for one, two in zip(*laws, strict=True):
        tie = one * (1 - two) + two * (1 - one)
        found.append(one * two * (1 - behind) + (1 - one) * (1 - two) * behind + tie / 2)
    return tuple(found)


def given_subset(sample, chosen, fall=FALL, trail=TRAIL):
    X = np.array([x for x, _ in sample]).reshape(-1, 1)
    y = np.array([label for _, label in sample])
    found = list(CLASS.patterns(X[list(chosen)]))
    chances = select([int((h.predict(X) != y).sum()) for h in found], fall, by="exponential")
    law = [Fraction(0)] * len(WORLD.questions)
    for h, chance in zip(found, chances, strict=True):
        votes = voted(tuple(X[:, 0].tolist()), tuple(h.predict(X).tolist()), trail)
        law = [p + chance * v for p, v in zip(law, votes, strict=True)]
    return law


def whole(size, flip=FLIP, fall=FALL, trail=TRAIL):
    def law(sample):
        law = [Fraction(0)] * len(WORLD.questions)
        for chosen, chance in uniform(len(sample), min(size, len(sample))):
            law = [p + chance * v for p, v in zip(law, given_subset(sample, chosen, fall, trail), strict=True)]
        return [(1 - 2 * flip) * p + flip for p in law]

    return law


def neighbours(n):
    """All samples of n records over the values, with all replacements of their last record."""
    rng = np.random.default_rng(n)
    records = WORLD.records
    for _ in range(12):
        rest = tuple(records[k] for k in rng.integers(0, len(records), n - 1))
        one, two = (records[k] for k in rng.choice(len(records), 2, replace=False))
        yield (*rest, one), (*rest, two)


def test_a_record_outside_the_subset_costs_twice_the_rate_and_the_vote():
    most = FALL**-2 * TRAIL**-2
    for one, other in neighbours(4):
        for chosen in combinations(range(3), 2):  # the last record is not in it
            for p, q in zip(given_subset(one, chosen), given_subset(other, chosen), strict=True):
                assert p <= most * q
                assert 1 - p <= most * (1 - q)


def test_a_record_of_the_subset_costs_lambda_where_the_rest_is_a_net():
    sharpest = Fraction(1)
    for sample, _ in neighbours(5):
        X = np.array([x for x, _ in sample])
        patterns = np.array([h.predict(X) for h in CLASS.patterns(X)])
        for rest in combinations(range(4), 2):
            agree = (patterns[:, None, rest] == patterns[None][:, :, rest]).all(axis=2)
            differ = (patterns[:, None, :4] != patterns[None][:, :, :4]).sum(axis=2)
            moved = int(differ[agree].max()) + 1
            most = 4 * (FALL**-2 * TRAIL**-2) ** moved
            inside = given_subset(sample, (*rest, 4))
            for other in set(range(4)) - set(rest):
                for p, q in zip(inside, given_subset(sample, (*rest, other)), strict=True):
                    for mine, theirs in ((p, q), (1 - p, 1 - q)):
                        assert mine <= most * theirs
                        assert theirs <= most * mine
                        sharpest = max(sharpest, mine / theirs, theirs / mine)
    assert sharpest > 1


@pytest.mark.parametrize("net", [0.3, 0.6])
def test_the_whole_claim_holds_and_more_outspoken_twins_are_caught(net):
    # Samples of three; smaller ones have the whole sample as their subset or none, so only three are claimed for.
    settings = TwoStageSettings(3, 1, RATE, VOTE, TEACHERS, net, int(FLIP * ONE))
    epsilon = settings.epsilon(CLASS)
    assert epsilon <= pure_epsilon(settings.fixed(), Fraction(1, 3), FLIP) + 1e-9
    law = whole(1)

    def of_three(sample):
        return law(sample) if len(sample) == 3 else [Fraction(1, 2)] * len(WORLD.questions)

    assert audit_predictor(of_three, epsilon, name="two-stage", adjacency="replace-one", world=WORLD).verdict is (
        Verdict.within
    )

    twins = {
        "vote too sure": whole(1, Fraction(0), trail=TRAIL**9),
        "draw and vote too sure": whole(1, fall=FALL**40, trail=TRAIL**40),
    }
    for name, twin in twins.items():
        law = twin
        found = audit_predictor(of_three, epsilon, name=name, adjacency="replace-one", world=WORLD)
        assert found.verdict is Verdict.violated, name


def test_answers_follow_the_law():
    sample = (((0.0,), 0), ((1.0,), 1), ((2.0,), 1))
    X, y = np.array([x for x, _ in sample]), np.array([label for _, label in sample])
    settings = TwoStageSettings(3, 1, RATE, VOTE, TEACHERS, 0.4, int(FLIP * ONE))
    told = TwoStage.fit(X, y, CLASS, settings=settings)
    coins = SeededCoins(0)
    law = whole(1)(sample)
    for i in (0, 3):
        answers = [told.answer(np.array(WORLD.questions[i]), coins) for _ in range(500)]
        assert abs(np.mean(answers) - float(law[i])) < 5 * 0.5 / math.sqrt(500)
    assert told.epsilon == settings.epsilon(CLASS)
    assert told.stability == pytest.approx(math.tanh(told.epsilon / 2))
    assert told.per_answer.epsilon(0.0) == pytest.approx(told.epsilon)
    assert "replaced" in told.promise
    assert repr(told) == "TwoStage(private)"


def test_constants_by_hand():
    settings = TwoStageSettings(100, 10, 0.1, 0.2, 5, 0.05, ONE // 100)
    assert settings.moved == 5
    assert settings.fixed() == pytest.approx(0.4)
    assert settings.sampled() == pytest.approx(math.log1p(4 * math.exp(2.0) / 9) + 0.4)
    assert settings.missed(CLASS) == 1.0, "ten records are no net at a twentieth"
    wide = TwoStageSettings(100, 60, 0.1, 0.2, 5, 0.25, ONE // 100)
    sets = 99 - 25 + 1
    assert wide.missed(CLASS) == pytest.approx(sets * (1 - 25 / 99) ** 59, rel=1e-6)


def test_tuned_settings_keep_the_promise_and_the_warning_names_a_number():
    found = settings_for(10**6, 1.0, CLASS)
    assert 0.99 < found.epsilon(CLASS) <= 1.0
    assert pays_from(1.0, family_of(CLASS).kind, 1) == 1e9
    with pytest.raises(CannotCalibrate, match=r"no better than a coin; it beats the stable one from about 1e\+09"):
        settings_for(1000, 1.0, CLASS)


def test_families():
    assert family_of(Intervals()).kind == "intervals"
    assert (family_of(Stumps(10)).kind, family_of(Stumps(10)).vc) == ("any", Stumps(10).vc)


def test_bad_settings_are_refused():
    with pytest.raises(InvalidParameter, match="below the 3 records"):
        TwoStageSettings(3, 3, 1.0, 1.0, 2, 0.4, ONE // 8)
    with pytest.raises(InvalidParameter, match="flip"):
        TwoStageSettings(3, 1, 1.0, 1.0, 2, 0.4, 0)
    settings = TwoStageSettings(3, 1, 1.0, 1.0, 2, 0.4, ONE // 8)
    with pytest.raises(InvalidParameter, match="number of records"):
        TwoStage.fit(np.zeros((4, 1)), np.zeros(4), CLASS, settings=settings)


class Split:
    """1 from 0 upwards."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] >= 0).astype(np.int32)


class TakesTheName(Thresholds):
    """Not mapl's thresholds, whatever it says."""


def test_the_sharper_proof_is_for_classes_that_restrict_only():
    # A net on a subset with the record -1 has one pattern, without it two: the sharper proof would be false.
    net = Net(Finite.of([Constant(0), Split()], n_features=1), 0.999)
    ordinary, with_it = np.zeros((200, 1)), np.zeros((200, 1))
    with_it[0] = -1
    assert (len(net.patterns(ordinary)), len(net.patterns(with_it))) == (2, 1)
    n, subset, moved = 100_000, 200, 5000
    settings = TwoStageSettings(n, subset, 0.5 / moved, 1 / moved, n // 2, 0.05, int(ONE * 1e-5))
    plain = pure_epsilon(settings.fixed(), Fraction(subset, n), Fraction(settings.flip, ONE))
    # Exactly, a teacher's change of one vote aside, that record moves the log of a chance by this much.
    assert settings.epsilon(net) > 0.4575
    for other in (net, net.hypotheses, TakesTheName()):
        assert settings.epsilon(other) == plain
        assert family_of(other).kind == "any"
        with pytest.raises(InvalidParameter, match="take the stable predictor"):
            settings_for(10**7, 1.0, other)


def test_a_class_too_large_to_list_is_refused_before_any_answer():
    X, y = np.random.default_rng(0).random((1200, 2)), np.zeros(1200)
    for subset, teachers in ((1100, 600), (2, 1)):
        settings = TwoStageSettings(1200, subset, 0.1, 0.1, teachers, 0.4, ONE // 8)
        with pytest.raises(InvalidParameter, match="too many points"):
            TwoStage.fit(X, y, Halfspaces(2), settings=settings)
