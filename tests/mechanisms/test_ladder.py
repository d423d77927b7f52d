"""The ladder against printed vectors, broken twins and the best adversary that can exist."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mapl.accounting import ORDERS, capacity
from mapl.errors import CannotCalibrate, InvalidParameter, MaplError
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables.rungs import LAST_ABSTENTION, LogChance, Rungs, excess, root, to_numerators
from mapl.mechanisms.votes.ladder import Ladder, LadderDesign, build, climb, design, longest_table
from mapl.noise import ONE, Coins, SeededCoins, SystemCoins
from mapl.types import ABSTAIN, Budget, StableAnswers, State, Tallies

MANY = 100_000
"""Enough teachers for every table here to end by itself."""


def task(epsilon: float, delta: float, n_teachers: int = MANY) -> Task:
    return Task(Budget(epsilon, delta), n_teachers, 10, 1000)


@cache
def ladder(epsilon: float, delta: float, max_abstentions: int) -> Ladder:
    return Ladder.for_task(task(epsilon, delta), max_abstentions=max_abstentions)


def printed(epsilon: float, delta: float, most: int, order: float, share: float = 0.02) -> LadderDesign:
    return LadderDesign(order, capacity(epsilon, delta * (1 - share), order) / most, share * delta / most)


# THEORY.md section 4: (epsilon, delta, T, order), c, pass probabilities, abstention probabilities, d99.
VECTORS = [
    (
        (2.0, 1e-5, 10, 7.13),
        0.361753,
        {0: 2.000e-8, 1: 2.033e-7, 2: 1.493e-6, 5: 1.286e-4, 10: 8.043e-3, 15: 6.182e-2},
        {20: 0.8130, 30: 0.4712, 40: 0.2179, 60: 3.606e-2, 80: 5.476e-3},
        74,
    ),
    (
        (1.0, 1e-6, 10, 15.54),
        0.441482,
        {1: 6.792e-9, 10: 2.040e-5},
        {40: 0.8883, 80: 0.3000, 120: 5.797e-2, 160: 9.956e-3},
        160,
    ),
    (
        (2.0, 1e-5, 100, 8.5),
        0.065457,
        {5: 6.169e-6},
        {40: 0.7839, 100: 0.1259, 160: 1.212e-2},
        165,
    ),
]


@pytest.mark.parametrize(("setting", "price", "passing", "abstaining", "d99"), VECTORS)
def test_the_printed_tables_are_reproduced(
    setting: tuple[float, float, int, float],
    price: float,
    passing: dict[int, float],
    abstaining: dict[int, float],
    d99: int,
) -> None:
    found = printed(*setting)
    assert found.price == pytest.approx(price, abs=6e-7)
    rungs = build(found, longest_table(MANY), 1e-9)
    for d, value in passing.items():
        assert rungs.passing()[d] == pytest.approx(value, rel=5e-4)
    for d, value in abstaining.items():
        assert rungs.abstaining()[d] == pytest.approx(value, rel=5e-4)
    assert rungs.distance_for(0.99) == d99


@pytest.mark.parametrize(("setting", "price", "passing", "abstaining", "d99"), VECTORS)
def test_the_steps_are_the_lowest_that_the_inequality_allows(
    setting: tuple[float, float, int, float],
    price: float,
    passing: dict[int, float],
    abstaining: dict[int, float],
    d99: int,
) -> None:
    """An independent greedy table, by plain bisection on (L) as it is written."""
    found = printed(*setting)
    a, c = found.order, found.price
    order, cost, first = (np.array([v]) for v in (a, c, found.first))
    ours = climb(order, cost, first, 60, 1e-9)

    def holds(lp: float, ly: float, lp2: float, ly2: float) -> bool:
        return all(
            math.expm1(a * p + (1 - a) * p2) + math.exp(a * y + (1 - a) * y2 - c) <= 0
            for p, y, p2, y2 in ((lp, ly, lp2, ly2), (lp2, ly2, lp, ly))
        )

    for before, after in pairwise(ours):
        lp, ly = float(before.passing[0]), float(before.abstaining[0])
        low, high = lp, 0.0  # ln pass of the next rung: holds at low, breaks at high
        for _ in range(60):
            middle = (low + high) / 2
            fine = middle < 0 and holds(lp, ly, middle, math.log(-math.expm1(middle)))
            low, high = (middle, high) if fine else (low, middle)
        assert float(after.passing[0]) == pytest.approx(low, rel=1e-6)


# THEORY.md sections 2 and 8: (epsilon, delta, T) to the distance for a 99% and, where printed, a 99.9% pass.
REFERENCE: dict[tuple[float, float, int], tuple[int, int | None]] = {
    (1, 1e-6, 1): (100, None),
    (1, 1e-6, 3): (119, None),
    (1, 1e-6, 10): (160, 212),
    (1, 1e-6, 100): (353, 476),
    (2, 1e-5, 1): (45, 60),
    (2, 1e-5, 3): (55, None),
    (2, 1e-5, 10): (74, 98),
    (2, 1e-5, 30): (105, None),
    (2, 1e-5, 50): (126, 169),
    (2, 1e-5, 100): (165, 223),
    (2, 1e-5, 300): (262, None),
    (2, 1e-5, 500): (327, 446),
    (2, 1e-5, 1000): (448, None),
    (4, 1e-5, 50): (69, 93),
    (4, 1e-5, 1000): (243, None),
    (4, 1e-6, 500): (197, 268),
    (0.5, 1e-5, 10): (251, 334),
    (0.5, 1e-6, 100): (671, 903),
    (1, 1e-5, 300): (489, None),
    (8, 1e-5, 1): (15, 20),
    (8, 1e-6, 50): (44, 58),
    (8, 1e-5, 500): (99, 135),
}


@pytest.mark.parametrize(("epsilon", "delta", "most"), REFERENCE)
def test_no_table_needs_more_distance_than_printed(epsilon: float, delta: float, most: int) -> None:
    d99, d999 = REFERENCE[epsilon, delta, most]
    made = ladder(epsilon, delta, most)
    found = made.required_distance(0.99)
    assert found is not None
    assert d99 * 0.95 - 1 <= found <= d99 + max(1, 0.02 * d99)
    if d999 is not None:
        far = made.required_distance(0.999)
        assert far is not None
        assert far <= d999 + max(1, 0.02 * d999)


CERTIFIED = [(2.0, 1e-5, 10), (1.0, 1e-6, 10), (4.0, 1e-5, 50), (0.5, 1e-6, 1), (8.0, 1e-5, 500)]


@pytest.mark.parametrize(("epsilon", "delta", "most"), CERTIFIED)
def test_calibrated_ladders_are_certified_and_their_broken_twins_are_not(
    epsilon: float, delta: float, most: int
) -> None:
    budget, made = Budget(epsilon, delta), ladder(epsilon, delta, most)
    n = made.rungs.numerators
    assert made.certify(budget)
    assert made.certify(Budget(epsilon, delta * 1.01))
    assert not made.certify(Budget(epsilon * 0.999, delta))
    assert not made.certify(Budget(epsilon, delta * 0.99))
    assert not replace(made, max_abstentions=most + 1).certify(budget)
    assert not replace(made, price=made.price * (1 - 1e-6)).certify(budget)
    assert not replace(made, price=made.price * (1 + 1e-6)).certify(budget)
    assert not made.certify(budget, also_per_abstention=1e-6)
    too_high = n.copy()
    too_high[0] = 2 * n[0]  # the steps still hold, the failure probability does not
    assert not replace(made, rungs=Rungs(too_high)).certify(budget)
    skipped = np.delete(n, len(n) // 2)
    assert not replace(made, rungs=Rungs(skipped)).certify(budget)


def rounded_up(rungs: list[LogChance]) -> Rungs:
    down = to_numerators((r.passing[0] for r in rungs), (r.abstaining[0] for r in rungs))
    return Rungs(down + 1)


@pytest.mark.parametrize(("epsilon", "delta", "most"), CERTIFIED)
def test_a_table_rounded_up_is_refused(epsilon: float, delta: float, most: int) -> None:
    made = ladder(epsilon, delta, most)
    first = int(made.rungs.numerators[0]) / ONE
    tight = climb(np.array([made.order]), np.array([made.price]), np.array([first]), 8000, LAST_ABSTENTION)
    broken = rounded_up(tight)
    broken.numerators[0] -= 1  # so that only the steps are to blame
    assert not replace(made, rungs=broken).certify(Budget(epsilon, delta))


@pytest.mark.parametrize(("epsilon", "delta", "most"), CERTIFIED)
def test_one_order_of_the_inequality_is_not_enough(epsilon: float, delta: float, most: int) -> None:
    made = ladder(epsilon, delta, most)
    order, price = np.array([made.order]), np.array([made.price * (1 - 1e-5)])
    rungs = [LogChance.of_passing(np.log(np.array([made.rungs.numerators[0] / ONE])))]
    guess = LogChance.of_passing(rungs[0].passing * 0.9).log_odds
    for _ in range(30):
        rungs.append(root(rungs[-1], order, price, guess, numerator="x"))
        guess = 2 * rungs[-1].log_odds - rungs[-2].log_odds
    numerators = to_numerators((r.passing[0] for r in rungs), (r.abstaining[0] for r in rungs))
    assert (np.diff(numerators) > 0).any()
    assert not replace(made, rungs=Rungs(numerators)).certify(Budget(epsilon, delta))


def moments(made: Ladder, order: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p^a q^(1-a) of passing and of abstaining, for every pair of laws that neighbours can have on one question."""
    passing, abstaining = made.rungs.passing(), made.rungs.abstaining()
    i = np.concatenate([np.arange(len(passing))] + [np.arange(len(passing) - 1) + k for k in (0, 1)])
    j = np.concatenate([np.arange(len(passing))] + [np.arange(len(passing) - 1) + k for k in (1, 0)])
    log_passing = np.where(passing < 0.5, np.log(passing), np.log1p(-np.minimum(abstaining, 0.5)))
    log_abstaining = np.where(abstaining < 0.5, np.log(abstaining), np.log1p(-np.minimum(passing, 0.5)))
    s, b = (np.exp(order * x[i] + (1 - order) * x[j]) for x in (log_passing, log_abstaining))
    # A question whose winner differs: on the good event it can only be declined.
    return np.append(s, 0.0), np.append(b, abstaining[0])


def best_log_moment(made: Ladder, order: float, questions: int) -> float:
    """The exact Renyi log-moment of the optimal adaptive adversary, by dynamic programming."""
    s, b = moments(made, order)
    value = np.ones(made.max_abstentions + 1)  # by abstentions left, after the last question
    for _ in range(questions):
        ask = np.max(s[:, None] * value[None, 1:] + b[:, None] * value[None, :-1], axis=0)
        value[1:] = np.maximum(value[1:], ask)
    return float(np.log(value[-1]))


@pytest.mark.parametrize(("epsilon", "delta", "most"), [(2.0, 1e-5, 10), (4.0, 1e-5, 3), (1.0, 1e-6, 1)])
def test_the_best_adaptive_adversary_pays_the_price_and_no_more(epsilon: float, delta: float, most: int) -> None:
    made = ladder(epsilon, delta, most)
    few, many = (best_log_moment(made, made.order, questions) for questions in (5, 3000))
    claim = most * made.price
    assert few < many <= claim * (1 + 1e-9)
    assert many >= 0.999 * claim


@pytest.mark.parametrize("order", [2.0, 4.0, 6.0, 7.5])
def test_the_best_adaptive_adversary_stays_below_the_claim_at_other_orders(order: float) -> None:
    made = ladder(2.0, 1e-5, 10)
    found = best_log_moment(made, order, 3000)
    claim = (order - 1) * made.total.at(order)
    assert 0.9 * claim <= found <= claim


def test_the_adversary_sees_one_abstention_too_many() -> None:
    made = ladder(2.0, 1e-5, 10)
    twin = replace(made, max_abstentions=11)
    assert best_log_moment(twin, made.order, 3000) > 10 * made.price * 1.05


def attack(made: Ladder, epsilon: float) -> float:
    """The exact delta at `epsilon` of asking one pair of rungs until the T-th abstention; the best such pair."""
    passing, abstaining = made.rungs.passing(), made.rungs.abstaining()
    most, worst = made.max_abstentions, 0.0
    passes = np.arange(40_000)
    for d in range(0, len(passing) - 1, 3):
        for i, j in ((d, d + 1), (d + 1, d)):
            log_ratio = passes * math.log(passing[i] / passing[j]) + most * math.log(abstaining[i] / abstaining[j])
            mass = stats.nbinom.pmf(passes, most, abstaining[i])
            worst = max(worst, float((mass * -np.expm1(np.minimum(epsilon - log_ratio, 0))).sum()))
    return worst


def test_repeating_one_question_realises_most_of_the_claimed_epsilon() -> None:
    """THEORY.md section 2: this attack alone reaches 1.776 of the claimed 2 at T = 50, and never passes it."""
    made = ladder(2.0, 1e-5, 50)
    assert attack(made, 2.0) <= 1e-5
    assert attack(made, 1.7) > 1e-5


@pytest.mark.parametrize(("epsilon", "delta", "most"), REFERENCE)
def test_the_whole_run_stays_within_the_budget(epsilon: float, delta: float, most: int) -> None:
    made = ladder(epsilon, delta, most)
    assert made.epsilon(None, delta) <= epsilon
    assert made.total.epsilon(delta) >= 0.99 * epsilon  # and the budget is used
    assert made.failure.delta < delta
    assert made.total.at(made.order) > 0


def test_spending_grows_with_abstentions_only() -> None:
    made = ladder(2.0, 1e-5, 10)
    spent = [made.epsilon(State(answered=10**6, abstained=t), 1e-5) for t in range(11)]
    assert spent == sorted(spent)
    assert spent[0] == 0
    assert spent[10] == made.epsilon(None, 1e-5)
    assert made.spent(State(answered=5, abstained=3)) == made.spent(State(answered=0, abstained=3))


def test_losses_name_the_common_orders_and_the_design_order() -> None:
    made = ladder(2.0, 1e-5, 10)
    named = [a for a, _ in made.total.divergences]
    assert made.order in named
    assert set(named) <= {*ORDERS, made.order}
    assert len(named) > 10
    assert made.total.at(made.order) * (made.order - 1) == pytest.approx(10 * made.price, rel=1e-12)


class ScriptedCoins(Coins):
    """Coins that pass and fail as told, for numerators strictly between 0 and ONE."""

    private = False

    def __init__(self, passes: list[bool]) -> None:
        self.left = [0 if p else 2**64 - 1 for p in passes]

    def words(self, n: int) -> NDArray[np.uint64]:
        taken, self.left = self.left[:n], self.left[n:]
        return np.array(taken, dtype=np.uint64)


def questions(n: int) -> StableAnswers:
    return StableAnswers(np.arange(n, dtype=np.int32), np.full(n, 30))


def test_a_run_halts_right_after_the_last_allowed_abstention() -> None:
    made = replace(ladder(2.0, 1e-5, 10), max_abstentions=3)
    coins = ScriptedCoins([True, False, True, False, True, False, True, True])
    start = made.start(coins)
    outcome = made.release(start, questions(8), coins)
    assert outcome.labels.tolist() == [0, ABSTAIN, 2, ABSTAIN, 4, ABSTAIN]
    assert outcome.labels.dtype == np.int32
    assert outcome.state == State(answered=3, abstained=3, halted=True)
    again = made.release(outcome.state, questions(8), SeededCoins(1))
    assert again.labels.size == 0
    assert again.state == outcome.state


def test_a_run_with_abstentions_left_goes_on() -> None:
    made = replace(ladder(2.0, 1e-5, 10), max_abstentions=3)
    outcome = made.release(State(), questions(4), ScriptedCoins([False, True, False, True]))
    assert outcome.labels.tolist() == [ABSTAIN, 1, ABSTAIN, 3]
    assert outcome.state == State(answered=2, abstained=2)


def test_a_halted_run_stays_halted() -> None:
    """Whoever halted it, and however many abstentions are left."""
    outcome = ladder(2.0, 1e-5, 10).release(State(abstained=2, halted=True), questions(4), SeededCoins(1))
    assert outcome.labels.size == 0
    assert outcome.state.halted
    assert outcome.state.abstained == 2


def random_tallies(n: int, n_teachers: int = 250, n_classes: int = 10, seed: int = 3) -> Tallies:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_classes, 0.08), size=n)
    return Tallies.checked(np.array([rng.multinomial(n_teachers, p) for p in shares]))


@pytest.mark.parametrize("rows", [1, 7, 64, 5000])
def test_batches_blocks_and_single_questions_are_the_same_release(rows: int) -> None:
    made, tallies = ladder(2.0, 1e-5, 50), random_tallies(600)
    batch = made.release(State(), tallies, SeededCoins(12))
    assert batch.state.halted
    assert 50 < len(batch.labels) < 600
    assert batch.state.abstained == 50 == np.count_nonzero(batch.labels == ABSTAIN)
    assert batch.labels[-1] == ABSTAIN
    coins, state, labels = SeededCoins(12), State(), []
    for block in tallies.blocks(rows):
        outcome = made.release(state, block, coins)
        state = outcome.state
        labels += outcome.labels.tolist()
    assert labels == batch.labels.tolist()
    assert state == batch.state


def test_permuting_classes_permutes_answers() -> None:
    """Where the smallest gap is odd, ties and their order play no part."""
    rng = np.random.default_rng(4)
    counts = random_tallies(4000, seed=9).counts
    ordered = np.sort(counts, axis=1)
    counts = counts[(ordered[:, -1] - ordered[:, -2]) % 2 == 1]
    permutation = rng.permutation(10)
    made = ladder(2.0, 1e-5, 1000)
    plain = made.release(State(), Tallies.checked(counts), SeededCoins(6))
    renamed = made.release(State(), Tallies.checked(counts[:, np.argsort(permutation)]), SeededCoins(6))
    assert plain.state.answered > 50
    answered = plain.labels != ABSTAIN
    np.testing.assert_array_equal(renamed.labels == ABSTAIN, ~answered)
    np.testing.assert_array_equal(renamed.labels[answered], permutation[plain.labels[answered]])


def test_chances_are_the_law_of_the_next_outcome() -> None:
    made, tallies = ladder(2.0, 1e-5, 50), random_tallies(40)
    chances = made.chances(tallies, State())
    assert chances.shape == (40, 11)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-15)
    passing = made.rungs.at(tallies.distances) / ONE
    np.testing.assert_array_equal(chances[np.arange(40), tallies.values], passing)
    assert (np.count_nonzero(chances[:, :10], axis=1) == 1).all()


@pytest.mark.statistical
def test_released_frequencies_follow_the_chances() -> None:
    """Binomial tests, fixed seed; a fresh seed alarms with probability 4e-4 in all."""
    made = replace(ladder(2.0, 1e-5, 50), max_abstentions=10**9)
    for distance in (30, 60, 90, 120):
        block = StableAnswers(np.zeros(20_000, dtype=np.int32), np.full(20_000, distance))
        answered = made.release(State(), block, SeededCoins(distance)).state.answered
        assert stats.binomtest(answered, 20_000, float(made.rungs.passing()[distance])).pvalue > 1e-4


def test_the_ladder_runs_on_private_coins() -> None:
    outcome = ladder(2.0, 1e-5, 50).release(State(), random_tallies(30), SystemCoins())
    assert len(outcome.labels) == 30
    assert outcome.state.answered + outcome.state.abstained == 30


@pytest.mark.parametrize("n_teachers", [1, 2, 20, 100, 251])
def test_a_required_distance_really_suffices(n_teachers: int) -> None:
    """A table cut short by few teachers may never reach 99%; then no distance is the honest answer."""
    made = Ladder.for_task(task(2.0, 1e-5, n_teachers), max_abstentions=10)
    assert made.certify(Budget(2.0, 1e-5))
    for probability in (0.5, 0.9, 0.99, 0.999):
        distance = made.required_distance(probability)
        if distance is not None:
            assert made.rungs.at(np.array([distance]))[0] / ONE >= probability


@pytest.mark.parametrize("n_teachers", [100, 101])
def test_a_unanimous_vote_has_at_least_the_forecast_chance(n_teachers: int) -> None:
    made = Ladder.for_task(task(2.0, 1e-5, n_teachers), max_abstentions=10)
    unanimous = Tallies.checked(np.eye(3, dtype=np.int64) * n_teachers)
    chances = made.chances(unanimous, State())
    for label in range(3):
        assert chances[label, label] >= made.chance_if_unanimous(n_teachers, 3)


def test_no_delta_no_ladder() -> None:
    with pytest.raises(InvalidParameter, match="needs a positive delta"):
        Ladder.for_task(task(2.0, 0.0), max_abstentions=10)


@pytest.mark.parametrize("most", [0, -1, 2.5, True])
def test_abstentions_are_counted_in_whole_numbers(most: int) -> None:
    with pytest.raises(InvalidParameter, match="max_abstentions is"):
        Ladder.for_task(task(2.0, 1e-5), max_abstentions=most)


def test_what_the_budget_cannot_pay_is_refused_with_advice() -> None:
    with pytest.raises(CannotCalibrate, match="lower max_abstentions or raise the budget"):
        Ladder.for_task(task(2.0, 1e-5), max_abstentions=10**15)
    with pytest.raises(CannotCalibrate, match="lower max_abstentions or raise the budget"):
        design(Budget(2.0, 1e-5), 10, 100, orders=np.array([1.5]))


@pytest.mark.parametrize("order", [1.0, 0.5, -3.0, math.nan, math.inf])
def test_orders_that_are_no_orders_are_refused(order: float) -> None:
    with pytest.raises((InvalidParameter, CannotCalibrate)):
        Ladder.for_task(task(2.0, 1e-5), max_abstentions=10, order=order)


@pytest.mark.parametrize(
    ("epsilon", "delta", "most"),
    [(1.0, 1e-9, 300), (0.05, 1e-9, 300), (1.0, 1e-12, 10), (8.0, 1e-2, 1), (12.0, 1e-4, 1), (20.0, 1e-4, 10)],
)
def test_every_sensible_budget_is_served(epsilon: float, delta: float, most: int) -> None:
    """Small deltas leave the first rungs few digits, large epsilons make the first steps long."""
    made = Ladder.for_task(task(epsilon, delta, 600), max_abstentions=most)
    assert made.certify(Budget(epsilon, delta))
    assert made.epsilon(None, delta) <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "most"),
    [
        (2.0, 1e-5, 10**6),
        (2.0, 1e-5, 10**9),
        (1e-3, 1e-5, 1000),
        (1e-6, 1e-5, 10),
        (1e-300, 1e-5, 1),
        (1.0, 1e-18, 1),
        (1.0, 1e-12, 10**7),
        (1000.0, 1e-5, 10),
    ],
)
def test_extreme_budgets_build_quickly_or_are_refused(epsilon: float, delta: float, most: int) -> None:
    began = time.process_time()
    try:
        made = Ladder.for_task(task(epsilon, delta, 10**6), max_abstentions=most)
    except CannotCalibrate:
        made = None
    assert time.process_time() - began < 5
    assert made is None or made.certify(Budget(epsilon, delta))


@pytest.mark.parametrize(("epsilon", "delta"), [(math.inf, 1e-5), (2.0, 1 - 2**-53), (2.0, 0.5), (1e6, 1e-5)])
def test_odd_budgets_are_served_within_the_budget_or_refused_in_words(epsilon: float, delta: float) -> None:
    try:
        made = Ladder.for_task(task(epsilon, delta, 250), max_abstentions=10)
    except MaplError as refusal:
        words = str(refusal)
    else:
        words = ""
        assert made.epsilon(None, delta) <= epsilon
    assert words == "" or len(words) > 40


def test_tables_for_different_numbers_of_teachers_are_not_neighbours() -> None:
    """Why adding a teacher is not claimed: the table is designed for K, and two designs may break (L) across.

    The theory note's remark that the ladder covers adding or removing a teacher holds for one fixed table only.
    """
    worst = -1.0
    before = Ladder.for_task(task(1.0, 1e-5, 55), max_abstentions=10)
    for teachers in range(56, 100):
        after = Ladder.for_task(task(1.0, 1e-5, teachers), max_abstentions=10)
        if after.order != before.order:
            order, price = np.array([before.order]), np.array([before.price])
            for d in range(1, min(len(before.rungs), len(after.rungs))):
                p = LogChance.of_numerator(int(before.rungs.numerators[d]))
                q = LogChance.of_numerator(int(after.rungs.numerators[d - 1]))
                worst = max(worst, float(excess(p, q, order, price)[0]))
        before = after
    assert worst > 0.01
    assert "added or removed" not in str(Ladder.__doc__)
