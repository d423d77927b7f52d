"""What a statement adds up: every stage that released something is in the printed epsilon and delta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mapl.mechanisms import Task, make
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.release.loop import aggregate
from mapl.release.statement.plain_words import NOT_PRIVATE
from mapl.release.statement.statement import StageSpend, Statement, statement_of
from mapl.types import Budget, Tallies

BUDGET = Budget(2.0, 1e-5)
VOTES = Tallies.checked(np.array([[200, 50], [130, 120], [240, 10]] * 10))
EARLIER = (StageSpend("error", "error-estimate", 0.25, 0.0), StageSpend("more", "best-of", 0.5, 1e-6))


def stated(earlier: tuple[StageSpend, ...], coins: Coins) -> Statement:
    task = Task(BUDGET, 250, 2, len(VOTES))
    ladder = make("ladder", task, max_abstentions=5)
    return statement_of(ladder, task, aggregate(VOTES, ladder, coins), coins, earlier=earlier)


def test_earlier_stages_are_part_of_every_epsilon_and_of_delta() -> None:
    alone, both = stated((), SeededCoins(1)), stated(EARLIER, SeededCoins(1))
    before = sum(Fraction(one.epsilon) for one in EARLIER)
    for name in ("epsilon", "guaranteed_epsilon", "budget_epsilon"):
        assert Fraction(getattr(both, name)) >= Fraction(getattr(alone, name)) + before, name
        assert getattr(both, name) == pytest.approx(getattr(alone, name) + float(before)), name
    assert Fraction(both.delta) >= Fraction(BUDGET.delta) + Fraction(1e-6)
    assert [stage.name for stage in both.stages] == ["error", "more", "labels"]


def test_only_the_systems_coins_make_a_statement_private() -> None:
    assert stated((), SystemCoins()).private
    seeded = stated((), SeededCoins(1))
    assert not seeded.private
    assert NOT_PRIVATE in seeded.in_plain_words
