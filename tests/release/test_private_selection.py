"""The best of a random number of private runs: its exact law on a tiny world, its price, and a broken twin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapl.accounting import ORDERS, Loss
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter, PlanMismatch
from mapl.mechanisms import Task, make
from mapl.noise import ONE, SeededCoins, SystemCoins
from mapl.planning.plan import Plan
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.private_selection import RandomRepetition, repeat_and_select
from mapl.types import Budget

Law = list[Fraction]
RATIO = 2
"""e^epsilon of one run, in this world: everything is an exact fraction."""


def laws(parts: int = 12) -> list[Law]:
    """All laws of one run with three outcomes, worst first, whose chances are multiples of 1/12."""
    return [
        [Fraction(a, parts), Fraction(b, parts), Fraction(parts - a - b, parts)]
        for a in range(1, parts)
        for b in range(1, parts - a)
    ]


def neighbours() -> Iterator[tuple[Law, Law]]:
    for p, q in product(laws(), repeat=2):
        if all(x <= RATIO * y and y <= RATIO * x for x, y in zip(p, q, strict=True)):
            yield p, q


def worst(selected: Any) -> Fraction:
    return max(x / y for p, q in neighbours() for x, y in zip(selected(p), selected(q), strict=True))


def best_of_fixed(law: Law, runs: int) -> Law:
    """The broken twin's law: always the same number of runs."""
    ends = [sum(law[: i + 1], Fraction(0)) for i in range(len(law))]
    return [end**runs - start**runs for start, end in zip([Fraction(0), *ends], ends, strict=False)]


@pytest.mark.parametrize("mean_runs", [1, 1.5, 4, 100])
def test_three_epsilon_on_every_pair_of_a_tiny_world(mean_runs: float) -> None:
    repetition = RandomRepetition.with_mean(mean_runs, n_candidates=1)
    found = worst(repetition.law)
    assert found <= RATIO**3
    if mean_runs == 1:
        assert found <= RATIO  # one run costs what one run costs
    if mean_runs == 100:
        assert found > RATIO**2  # two epsilon would be too little


def test_a_fixed_number_of_runs_at_the_price_of_one_is_caught() -> None:
    assert worst(lambda law: best_of_fixed(law, 1)) <= RATIO
    assert worst(lambda law: best_of_fixed(law, 2)) > RATIO
    assert worst(lambda law: best_of_fixed(law, 12)) > RATIO**3  # not even three times the price will do


def test_the_law_is_the_sum_over_all_numbers_of_runs() -> None:
    repetition = RandomRepetition.with_mean(3, n_candidates=1)
    gamma = Fraction(repetition.stop, ONE)
    law = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    summed = [Fraction(0)] * 3
    for runs in range(1, 80):
        chance = gamma * (1 - gamma) ** (runs - 1)
        summed = [s + chance * x for s, x in zip(summed, best_of_fixed(law, runs), strict=True)]
    assert sum(repetition.law(law)) == 1
    for direct, closed in zip(summed, repetition.law(law), strict=True):
        assert float(direct) == pytest.approx(float(closed), abs=1e-12)


@pytest.mark.parametrize("mean_runs", [1, 2, 30])
def test_the_renyi_price_covers_every_pair(mean_runs: float) -> None:
    repetition = RandomRepetition.with_mean(mean_runs, n_candidates=1)
    orders = (1.25, 2.0, 5.0, 16.0, 64.0)

    def divergence(p: Law, q: Law, a: float) -> float:
        return math.log(sum(float(x) ** a * float(y) ** (1 - a) for x, y in zip(p, q, strict=True))) / (a - 1)

    for p, q in list(neighbours())[::7]:
        each = Loss.of({a: max(divergence(p, q, a), divergence(q, p, a), 0.0) for a in orders})
        price = repetition.price(each)
        for a in orders:
            assert divergence(repetition.law(p), repetition.law(q), a) <= price.at(a) + 1e-9


def test_what_is_released_has_the_stated_law() -> None:
    law = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    repetition, coins, n = RandomRepetition.with_mean(3, n_candidates=2), SeededCoins(5), 8000
    ends = np.cumsum([float(chance) for chance in law])
    world = np.random.default_rng(0)

    def run(candidate: int) -> tuple[int, Any]:
        return int(np.searchsorted(ends, world.random())), None

    found = np.zeros(3)
    for _ in range(n):
        scores: list[int] = []

        def noted(candidate: int, scores: list[int] = scores) -> tuple[int, Any]:
            score, _ = run(candidate)
            scores.append(score)
            return score, score

        found[repetition.release(noted, coins)[1]] += 1
        assert scores
    # Five standard deviations of the largest share; coins and world are always the same.
    assert found / n == pytest.approx([float(x) for x in repetition.law(law)], abs=5 * 0.5 / n**0.5)


def test_the_best_candidate_wins_more_often_the_more_runs_there_are() -> None:
    def run(candidate: int) -> tuple[int, Any]:
        return candidate, f"model {candidate}"

    shares = []
    for mean_runs in (1, 5, 50):
        repetition, coins = RandomRepetition.with_mean(mean_runs, n_candidates=4), SeededCoins(1)
        shares.append(np.mean([repetition.release(run, coins)[0] == 3 for _ in range(300)]))
    assert shares[0] < 0.4 < shares[1] < shares[2]
    assert shares[2] > 0.85


def test_prices() -> None:
    repetition = RandomRepetition.with_mean(20, n_candidates=5)
    assert repetition.price(Loss.pure(0.3)).epsilon(0.0) == pytest.approx(0.9)
    noisy = make("link", Task(Budget(1.0, 1e-6), 500, 2, 50)).total
    price = repetition.price(noisy).epsilon(1e-6)
    assert noisy.epsilon(1e-6) < price < 4 * noisy.epsilon(1e-6)
    assert price < (noisy * 20).epsilon(1e-6)  # cheaper than paying for the mean number of runs
    once = RandomRepetition.with_mean(1, n_candidates=5)
    assert once.price(noisy).at(8.0) <= 3 * noisy.at(128.0) + noisy.at(8.0)
    with pytest.raises(InvalidParameter, match="delta above 0"):
        repetition.price(Loss.of(dict.fromkeys(ORDERS, 0.1), 1e-9))


def test_a_selection_is_a_stage_of_a_plan() -> None:
    repetition = RandomRepetition.with_mean(20, n_candidates=3)
    stage = repetition.stage(Loss.pure(0.3), Budget(1.0, 0.0))
    plan = Plan(("no", "yes"), 0, "add-remove", "record", 1, Budget(1.0, 0.0), (stage,), "as asked")
    assert Limits.of_plan(plan).stages == (("selection", Limit(1, 0)),)
    ledger = MemoryLedger()
    ledger.open(plan.digest, Limits.of_plan(plan))
    assert repeat_and_select(repetition, lambda one: (one, "x"), SystemCoins(), ledger=ledger)[1] == "x"
    with pytest.raises(GuaranteeBroken, match=r"costs epsilon 1\.2; allowed is 1"):
        repetition.stage(Loss.pure(0.4), Budget(1.0, 0.0))


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    made: Ledger = MemoryLedger() if request.param == "memory" else SqliteLedger(tmp_path / "ledger.sqlite")
    made.open("p" * 64, Limits.of({"selection": Limit(1, 0)}))
    return made


def test_only_the_outcome_is_recorded_and_a_resumed_run_reads_it(ledger: Ledger) -> None:
    repetition = RandomRepetition.with_mean(30, n_candidates=3)
    runs = []

    def run(candidate: int) -> tuple[int, Any]:
        runs.append(candidate)
        return 1000 * candidate + 123, ["setting", candidate]

    first = repeat_and_select(repetition, run, SystemCoins(), ledger=ledger)
    assert first[1] == ["setting", first[0]]
    before = len(runs)
    assert repeat_and_select(repetition, run, SystemCoins(), ledger=ledger) == first
    assert len(runs) == before
    assert len(ledger.entries()) == 3  # plan, start, outcome: neither scores nor how many runs there were
    assert "123" not in str([record.told() for record in ledger.entries()][1:])
    ledger.verify()
    other = RandomRepetition.with_mean(31, n_candidates=3)
    with pytest.raises(PlanMismatch):
        repeat_and_select(other, run, SystemCoins(), ledger=ledger)


@pytest.mark.parametrize("mean_runs", [0, 0.5, -1, math.nan, math.inf, 20_000])
def test_senseless_numbers_of_runs_are_refused(mean_runs: float) -> None:
    with pytest.raises(InvalidParameter, match="must lie between 1 and 10,000"):
        RandomRepetition.with_mean(mean_runs, n_candidates=2)


@pytest.mark.parametrize("score", [1.0, None, True])
def test_other_scores_are_refused(score: Any) -> None:
    with pytest.raises(InvalidData, match="no whole number"):
        RandomRepetition.with_mean(2, n_candidates=2).release(lambda candidate: (score, 0), SystemCoins())
