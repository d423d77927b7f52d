"""The private choice: its exact law on all neighbouring scores, twins that are caught, and one draw per stage."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.audit.counts.tables import below_exp
from mapl.errors import BudgetExhausted, GuaranteeBroken, InvalidParameter, PlanMismatch
from mapl.noise import SeededCoins, SystemCoins
from mapl.release.best_of import BestOf, Scores, select
from mapl.release.ledger.chain import ANSWERS, Entry
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger

MOST = 6


def neighbours(scores: tuple[int, ...], sensitivity: int) -> Iterator[tuple[int, ...]]:
    """One unit more is right for some and wrong for others; one that changes may turn any of them around."""
    for step in product((0, 1) if sensitivity == 1 else (-1, 0, 1), repeat=len(scores)):
        yield tuple(score + s for score, s in zip(scores, step, strict=True))


def worst(best: BestOf, sensitivity: int) -> Fraction:
    """Return the largest ratio of the chances of one choice under two neighbouring scores, both ways round."""
    most = Fraction(1)
    for scores in product(range(MOST), repeat=best.n_candidates):
        law = best.law(np.array(scores))
        for other in neighbours(scores, sensitivity):
            ratios = [p / q for p, q in zip(law, best.law(np.array(other)), strict=True)]
            most = max(most, *ratios, *(1 / ratio for ratio in ratios))
    return most


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 3.0, 100.0])
@pytest.mark.parametrize(("n_candidates", "sensitivity"), [(2, 1), (2, 2), (3, 1), (3, 2)])
def test_the_exact_law_keeps_the_promise(epsilon: float, n_candidates: int, sensitivity: int) -> None:
    assert worst(BestOf(epsilon, n_candidates, sensitivity), sensitivity) <= below_exp(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_weights_for_units_that_come_and_go_do_not_do_for_units_that_change(epsilon: float) -> None:
    assert worst(BestOf(epsilon, 2, 1), 2) > below_exp(epsilon)
    assert worst(BestOf(2 * epsilon, 2, 1), 1) > below_exp(epsilon)


def test_weights_that_fall_too_fast_are_refused_before_anything_is_drawn() -> None:
    """Whatever made them: the last look is at the integers themselves."""
    best = BestOf(1.0, 3, sensitivity=2)
    best.release(np.array([5, 3, 4]), SystemCoins())
    vars(best)["weights"] = BestOf(1.0, 3, sensitivity=1).weights
    with pytest.raises(GuaranteeBroken, match="fall too fast"):
        best.release(np.array([5, 3, 4]), SystemCoins())


@settings(max_examples=80, deadline=None)
@given(
    epsilon=st.floats(1e-3, 1e3),
    scores=st.lists(st.integers(0, 10**6), min_size=2, max_size=8),
    sensitivity=st.sampled_from([1, 2]),
)
def test_more_is_better_and_everything_is_possible(epsilon: float, scores: list[int], sensitivity: int) -> None:
    best = BestOf(epsilon, len(scores), sensitivity)
    law = best.law(np.array(scores))
    assert sum(law) == 1
    assert min(law) > 0
    ranked = [chance for _, chance in sorted(zip(scores, law, strict=True))]
    assert ranked == sorted(ranked)
    assert best.law(np.array(scores) + 1) == law  # what all have in common says nothing
    assert best.total.epsilon(0.0) <= epsilon * (1 + 1e-12)


def test_choices_have_the_stated_chances() -> None:
    best, scores, n = BestOf(1.0, 3), np.array([7, 9, 8]), 20_000
    coins = SeededCoins(4)
    found = np.bincount([best.release(scores, coins) for _ in range(n)], minlength=3) / n
    # Five standard deviations of the largest share; the coins are always the same ones.
    assert found == pytest.approx([float(p) for p in best.law(scores)], abs=5 * 0.5 / n**0.5)


@pytest.mark.parametrize("scores", [np.array([1, 2, 3]), np.array([[1, 2]]), np.array([1.0, 2.0])])
def test_other_scores_are_refused(scores: Scores) -> None:
    with pytest.raises(GuaranteeBroken, match="one whole number for each of 2 candidates"):
        BestOf(1.0, 2).release(scores, SystemCoins())


@pytest.mark.parametrize(("epsilon", "n"), [(0.0, 2), (float("inf"), 2), (1.0, 1), (1.0, 0)])
def test_senseless_settings_are_refused(epsilon: float, n: int) -> None:
    with pytest.raises(InvalidParameter):
        BestOf(epsilon, n)


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    made: Ledger = MemoryLedger() if request.param == "memory" else SqliteLedger(tmp_path / "ledger.sqlite")
    made.open("p" * 64, Limits.of({"selection": Limit(1, 0)}))
    return made


def test_a_choice_is_made_once(ledger: Ledger) -> None:
    best = BestOf(0.01, 2)
    first = select(best, lambda: np.array([5, 5]), SystemCoins(), ledger=ledger)

    def never() -> Scores:
        raise AssertionError("scores were asked for again")

    assert [select(best, never, SystemCoins(), ledger=ledger) for _ in range(20)] == [first] * 20
    ledger.verify()
    with pytest.raises(PlanMismatch, match="parameters differ"):
        select(BestOf(0.02, 2), never, SystemCoins(), ledger=ledger)
    with pytest.raises(BudgetExhausted):
        ledger.append(Entry(ANSWERS, "selection", answered=1))


def test_the_ledger_tells_the_choice_and_no_score(ledger: Ledger) -> None:
    select(BestOf(1.0, 2), lambda: np.array([123456, 123457]), SystemCoins(), ledger=ledger)
    assert "12345" not in str([{**line, "hash": "", "previous": ""} for line in ledger.export()])
