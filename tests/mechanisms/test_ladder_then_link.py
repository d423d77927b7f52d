"""The ladder with a link behind it: the priced moment, an optimal adversary, and what is published."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.tables.offset_table import LinkDesign
from mapl.mechanisms.votes.ladder import Ladder
from mapl.mechanisms.votes.ladder_then_link import LadderThenLink
from mapl.mechanisms.votes.link import build
from mapl.noise import ONE, SeededCoins
from mapl.types import ABSTAIN, Budget, State, Tallies

STABLE, NEVER, FALLBACK = slice(0, 2), 2, slice(3, 5)


def task(epsilon: float, delta: float, *, teachers: int) -> Task:
    return Task(Budget(epsilon, delta), teachers, 2, 1000)


def every_vote(teachers: int) -> Tallies:
    ones = np.arange(teachers + 1)
    return Tallies(np.column_stack([teachers - ones, ones]))


def priced_moments(made: LadderThenLink, teachers: int) -> list[float]:
    """Sum of p^a q^(1-a) e^(-price) over the outcomes that cannot betray a changed winner, for each pair."""
    block = every_vote(teachers)
    laws, winners, a = made.chances(block, State()), block.values, made.ladder.order
    price = made.ladder.price + (a - 1) * made.divergence
    moments = []
    for i, j in [(i, i + 1) for i in range(teachers)] + [(i + 1, i) for i in range(teachers)]:
        terms = laws[i] ** a * np.where(laws[j] > 0, laws[j], 1.0) ** (1 - a)
        passed = terms[STABLE].sum() if winners[i] == winners[j] else 0.0
        moments.append(float(passed + math.exp(-price) * terms[FALLBACK].sum()))
    return moments


@pytest.mark.parametrize("teachers", [1, 2, 4, 5, 8, 9, 60, 61])
@pytest.mark.parametrize(("epsilon", "limit", "share"), [(2.0, 3, 0.5), (8.0, 1, 0.2), (1.0, 20, 0.8)])
def test_no_neighbouring_votes_exceed_the_price(teachers: int, epsilon: float, limit: int, share: float) -> None:
    made = LadderThenLink.for_task(task(epsilon, 1e-5, teachers=teachers), max_abstentions=limit, share=share)
    assert max(priced_moments(made, teachers)) <= 1 + 1e-12
    assert made.certify(Budget(epsilon, 1e-5))
    assert made.epsilon(None, 1e-5) <= epsilon
    first_pass = int(made.ladder.rungs.numerators[0]) / ONE
    assert made.total.delta == pytest.approx(limit * first_pass, rel=1e-12)


def test_the_price_is_reached_not_only_respected() -> None:
    made = LadderThenLink.for_task(task(8.0, 1e-3, teachers=60), max_abstentions=2)
    assert max(priced_moments(made, 60)) > 0.9


def optimal_delta(made: LadderThenLink, teachers: int, questions: int, epsilon: float) -> float:
    """The exact delta of a run when an adversary chooses every neighbouring pair, and when to stop, adaptively."""
    laws = made.chances(every_vote(teachers), State())
    laws = np.delete(laws, NEVER, axis=1)
    pairs = [(laws[i], laws[j]) for i in range(teachers) for j in (i, i + 1)]
    pairs += [(q, p) for p, q in pairs]

    @cache
    def best(left: int, abstentions_left: int, log_ratio: float) -> float:
        stop = max(math.exp(log_ratio) - math.exp(epsilon), 0.0)
        if left == 0 or abstentions_left == 0:
            return stop
        return max([stop, *(expected(p, q, left, abstentions_left, log_ratio) for p, q in pairs)])

    def expected(p: np.ndarray, q: np.ndarray, left: int, abstentions_left: int, log_ratio: float) -> float:
        value = 0.0
        for outcome in range(4):
            if p[outcome] == 0:
                continue
            if q[outcome] == 0:  # seen on one side only: counts fully, in units of q's past
                value += math.exp(log_ratio) * p[outcome]
                continue
            after = round(log_ratio + math.log(p[outcome] / q[outcome]), 12)
            value += q[outcome] * best(left - 1, abstentions_left - (outcome >= 2), after)
        return value

    return best(questions, made.ladder.max_abstentions, 0.0)


@pytest.mark.parametrize(("teachers", "limit"), [(4, 1), (5, 1), (4, 2), (5, 2)])
def test_an_optimal_adaptive_adversary_stays_below_delta(teachers: int, limit: int) -> None:
    epsilon, delta = 1.0, 0.05
    made = LadderThenLink.for_task(task(epsilon, delta, teachers=teachers), max_abstentions=limit)
    assert 0.02 * delta < optimal_delta(made, teachers, 4, epsilon) <= delta


# ---------------------------------------------------------------- broken twins


def test_a_fallback_that_is_not_paid_for_is_caught() -> None:
    budget = Budget(1.0, 0.05)
    whole = Ladder.for_task(Task(budget, 5, 2, 1000), max_abstentions=1)
    made = LadderThenLink.for_task(Task(budget, 5, 2, 1000), max_abstentions=1, order=whole.order)
    twin = replace(made, ladder=whole)
    assert whole.certify(budget)
    assert not twin.certify(budget)
    assert twin.epsilon(None, budget.delta) > budget.epsilon


def test_a_fallback_steeper_than_claimed_is_caught() -> None:
    budget = Budget(1.0, 0.05)
    made = LadderThenLink.for_task(Task(budget, 5, 2, 1000), max_abstentions=1)
    steep = build(LinkDesign(made.ladder.order, 30 * made.divergence), odd=True, longest=3)
    twin = replace(made, fallback=steep)
    assert not twin.certify(budget)
    assert max(priced_moments(twin, 5)) > 1
    assert optimal_delta(twin, 5, 2, budget.epsilon) > budget.delta


# ---------------------------------------------------------------- releasing


def votes(rows: int, teachers: int) -> Tallies:
    ones = np.random.default_rng(2).integers(0, teachers + 1, size=rows)
    return Tallies.checked(np.column_stack([teachers - ones, ones]))


@pytest.mark.parametrize("teachers", [60, 61])
def test_batch_and_online_agree_and_halt_right_after_the_last_abstention(teachers: int) -> None:
    made = LadderThenLink.for_task(task(8.0, 1e-3, teachers=teachers), max_abstentions=20)
    block = votes(400, teachers)
    batch = made.release(made.start(SeededCoins(5)), block, SeededCoins(5))
    asked = len(batch.labels)
    assert asked < len(block)
    assert batch.fallback is not None
    assert batch.fallback.sum() == 20
    assert batch.fallback[-1]
    assert batch.state == State(answered=asked - 20, abstained=20, halted=True)
    assert ABSTAIN not in batch.labels
    assert batch.labels.dtype == np.int32
    assert (batch.labels[~batch.fallback] == block.values[:asked][~batch.fallback]).all()

    coins, state, labels, fallback = SeededCoins(5), State(), [], []
    for row in block.counts:
        outcome = made.release(state, Tallies(row[None]), coins)
        state = outcome.state
        assert outcome.fallback is not None
        labels.extend(outcome.labels.tolist())
        fallback.extend(outcome.fallback.tolist())
    assert labels == batch.labels.tolist()
    assert fallback == batch.fallback.tolist()
    assert state == batch.state
    assert made.spent(state) == made.total
    assert len(made.release(state, block, coins).labels) == 0


def test_spending_follows_the_abstentions_only() -> None:
    made = LadderThenLink.for_task(task(2.0, 1e-5, teachers=101), max_abstentions=10)
    order = made.ladder.order
    assert made.spent(State(answered=10_000)).at(order) == 0
    once = made.spent(State(abstained=1)).at(order)
    assert once == pytest.approx(made.ladder.price / (order - 1) + made.divergence, rel=1e-12)
    assert made.total.at(order) == pytest.approx(10 * once, rel=1e-12)


def test_the_law_is_the_ladders_with_its_abstentions_answered() -> None:
    made = LadderThenLink.for_task(task(4.0, 1e-5, teachers=50), max_abstentions=5)
    block = every_vote(50)
    laws, climbed = made.chances(block, State()), made.ladder.chances(block, State())
    assert laws.shape == (51, 5)
    assert laws.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (laws[:, NEVER] == 0).all()
    assert (laws[:, STABLE] == climbed[:, :2]).all()
    assert laws[:, FALLBACK].sum(axis=1) == pytest.approx(climbed[:, 2], abs=1e-12)
    assert laws[25, 3] == pytest.approx(laws[25, 4])  # a tie falls back on a fair coin


@pytest.mark.statistical
def test_frequencies_follow_the_law() -> None:
    """False-alarm rate below 1e-5 for a fresh seed: five-sigma bands for four outcomes."""
    n = 200_000
    made = LadderThenLink.for_task(task(8.0, 1e-3, teachers=40), max_abstentions=5)
    patient = replace(made, ladder=replace(made.ladder, max_abstentions=n + 1))
    block = Tallies(np.tile(np.array([[14, 26]]), (n, 1)))
    outcome = patient.release(State(), block, SeededCoins(8))
    assert outcome.fallback is not None
    law = np.delete(made.chances(block.first(1), State())[0], NEVER)
    seen = np.bincount(outcome.labels + 2 * outcome.fallback, minlength=4) / n
    assert (law > 0).sum() == 3
    assert (np.abs(seen - law) <= 5 * np.sqrt(law * (1 - law) / n)).all()


@pytest.mark.parametrize("teachers", [60, 61])
def test_the_required_distance_is_sufficient_and_smallest(teachers: int) -> None:
    made = LadderThenLink.for_task(task(8.0, 1e-5, teachers=teachers), max_abstentions=5)
    block = every_vote(teachers)
    laws, rows = made.chances(block, State()), np.arange(teachers + 1)
    winner = laws[rows, block.values] + laws[rows, 3 + block.values]
    for probability in (0.6, 0.9, 0.99):
        needed = made.required_distance(probability)
        assert needed is not None
        assert (winner[block.distances >= needed] >= probability).all()
        assert needed == 0 or (winner[block.distances == needed - 1] < probability).any()
    assert made.required_distance(1.0) is None
    assert made.chance_if_unanimous(teachers, 2) == pytest.approx(winner[0])


# ---------------------------------------------------------------- refusals


def test_bad_settings_are_refused() -> None:
    good = task(2.0, 1e-5, teachers=50)
    with pytest.raises(InvalidParameter, match="max_abstentions is 0"):
        LadderThenLink.for_task(good, max_abstentions=0)
    for share in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            LadderThenLink.for_task(good, max_abstentions=5, share=share)
    with pytest.raises(InvalidParameter, match="above 1"):
        LadderThenLink.for_task(good, max_abstentions=5, order=1.0)
    with pytest.raises(CannotCalibrate, match="raise share"):
        LadderThenLink.for_task(good, max_abstentions=5, share=1e-10)
    with pytest.raises(InvalidParameter, match="ladder-then-max"):
        LadderThenLink.for_task(replace(good, n_classes=3), max_abstentions=5)
    with pytest.raises(InvalidParameter, match="delta is 0"):
        LadderThenLink.for_task(task(2.0, 0.0, teachers=50), max_abstentions=5)


def test_votes_that_the_table_does_not_cover_are_refused() -> None:
    made = LadderThenLink.for_task(task(2.0, 1e-5, teachers=50), max_abstentions=5)
    with pytest.raises(GuaranteeBroken, match="even number of teachers"):
        made.release(State(), Tallies(np.array([[30, 21]])), SeededCoins(0))
    with pytest.raises(InvalidData, match="3 classes"):
        made.release(State(), Tallies(np.array([[30, 10, 10]])), SeededCoins(0))
