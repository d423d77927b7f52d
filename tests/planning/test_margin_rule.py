"""T and K from a margin curve: the formulas, and runs that finish as they say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.bounds.lzcw21.margin import crowd
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


def test_two_classes_have_the_plans_of_before() -> None:
    """Computed by the code that knew two classes only."""
    curve = MarginCurve.of_counts(np.array([[50 - ones, ones] for ones in range(51)]))
    plans = margin_plans(curve, 70, 1000, BUDGET)
    assert [(plan.abstentions, plan.teachers, plan.paper_teachers) for plan in plans] == [
        (448, 14020, 234091),
        (619, 8110, 137580),
        (810, 6120, 104920),
        (978, 5005, 86466),
    ]


def test_more_classes_take_more_teachers_only_where_votes_spread() -> None:
    """T and the noise's share of K know nothing of classes; Hoeffding's is for each of the others."""
    sure = MarginCurve(np.full(10_000, 0.5), 1000)
    plans = {n: margin_plans(replace(sure, n_classes=n), 70, 1000, BUDGET) for n in (2, 3, 30)}
    for few, more, many in zip(*plans.values(), strict=True):
        assert few.abstentions == more.abstentions == many.abstentions
        assert few.paper_teachers == more.paper_teachers == many.paper_teachers
        assert few.teachers is not None
        assert many.teachers is not None
        least = math.ceil(2 * math.log(3 * 1000 * 29 / 0.05) / many.margin**2)
        assert many.teachers == max(few.teachers, least)
    assert plans[2][0].teachers != plans[30][0].teachers


def test_k_teachers_keep_half_of_the_lead_over_every_class_and_the_distance_that_follows() -> None:
    """Five classes, the winner ahead of four equal ones by 2 Delta: what Hoeffding and the union ask for."""
    m, beta, margin = 200, 0.05, 0.2
    found = crowd(m, 0.0, margin, epsilon=1.0, delta=1e-6, beta=beta, classes=5)
    assert 4 * m * math.exp(-2 * found.for_votes * (margin / 2) ** 2) == pytest.approx(beta / 3)
    teachers = math.ceil(found.for_votes)
    counts = np.random.default_rng(4).multinomial(teachers, [0.12, 0.12, 0.52, 0.12, 0.12], size=20 * m)
    tallies = Tallies.checked(counts)
    lost = (tallies.values != 2) | (tallies.distances < teachers * margin / 2 - 1)
    assert lost.mean() <= beta / (3 * m)


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
