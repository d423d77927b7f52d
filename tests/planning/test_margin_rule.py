"""T and K from a margin curve: the formulas, and runs that finish as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.planning.rules.margin import margin_plans
from mapl.planning.votes.noise_conditions import MarginCurve
from mapl.release import aggregate
from mapl.types import Budget, Tallies

BUDGET = Budget(2.0, 1e-6)


def flat(nu: float) -> MarginCurve:
    """Return a curve with a share nu of coins, and margin 1/2 elsewhere."""
    return MarginCurve(np.sort(np.where(np.arange(10_000) < nu * 10_000, 0.0, 0.5)), 1000)


@given(nu=st.floats(0, 0.5), n_queries=st.integers(1, 3000), failure=st.floats(0.01, 0.5))
@settings(max_examples=10, deadline=None)
def test_t_or_more_small_margins_are_rare(nu: float, n_queries: int, failure: float) -> None:
    """A run halts at the T-th abstention, so fewer than T small margins may come, unless T is all questions."""
    from scipy.stats import binom

    for plan in margin_plans(flat(nu), 10, n_queries, BUDGET, failure=failure)[:1]:
        assert 1 <= plan.abstentions <= n_queries
        if plan.abstentions < n_queries:
            assert binom.sf(plan.abstentions - 1, n_queries, plan.nu) <= failure / 3 + 1e-12


def test_k_is_the_corrected_one_of_proposition_11_and_the_ladder_needs_far_fewer() -> None:
    m, gamma = 1000, 0.05
    log = math.log(2 / BUDGET.delta)
    for plan in margin_plans(flat(0.02), 70, m, BUDGET):
        t = plan.abstentions
        scale = (math.sqrt(2 * t * (BUDGET.epsilon + log)) + math.sqrt(2 * t * log)) / BUDGET.epsilon
        logs = math.log(4 * m / BUDGET.delta) + math.log(3 * m / gamma)
        assert plan.paper_teachers == math.ceil((6 * scale * logs + 2) / plan.margin)
        assert plan.teachers is not None
        assert 2 * math.log(3 * m / gamma) / plan.margin**2 <= plan.teachers < plan.paper_teachers / 4
        assert plan.rows == 70 * plan.teachers


def test_where_no_ladder_can_be_made_there_is_no_k() -> None:
    plans = margin_plans(flat(0.5), 70, 10**6, BUDGET)
    assert [(plan.teachers, plan.rows) for plan in plans] == [(None, None)] * 4


def test_a_run_with_the_planned_k_and_t_finishes_and_answers_all_clear_questions() -> None:
    """3% of the questions are coins, the others have margin 0.4; the worst case of the measured condition."""
    rng = np.random.default_rng(1)
    n_queries = 400
    margins = np.sort(np.where(np.arange(4000) < 120, 0.0, 0.4))
    plans = margin_plans(MarginCurve(margins, 10_000), 50, n_queries, BUDGET)
    assert [plan.nu < 0.04 for plan in plans] == [True, True, True, False]
    plan = plans[2]
    assert plan.teachers is not None
    assert plan.nu >= 0.03
    assert plan.rows == 50 * plan.teachers
    ladder = make("ladder", Task(BUDGET, plan.teachers, 2, n_queries), max_abstentions=plan.abstentions)
    finished = 0
    for seed in range(20):
        clear = rng.random(n_queries) >= 0.03
        ones = rng.binomial(plan.teachers, np.where(clear, 0.9, 0.5))
        tallies = Tallies.checked(np.stack([plan.teachers - ones, ones], axis=1))
        released = aggregate(tallies, ladder, SeededCoins(seed))
        labels = released.labels
        finished += len(labels) == n_queries and bool((labels[clear] == 1).all())
    assert finished >= 19


def test_senseless_figures_are_refused() -> None:
    curve = MarginCurve(np.linspace(0, 0.5, 100), 50)
    for wrong in (
        lambda: margin_plans(curve, 0, 10, BUDGET),
        lambda: margin_plans(curve, 10, 0, BUDGET),
        lambda: margin_plans(curve, 10, 10**12, BUDGET),
        lambda: margin_plans(curve, 10, 10, BUDGET, failure=0.0),
        lambda: margin_plans(curve, 10, 10, Budget(1.0, 0.0)),
        lambda: margin_plans(curve, 10, 10, Budget(math.inf, 1e-6)),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
