"""Limits are set by forecast, and tables are shared by numbers of teachers."""

from __future__ import annotations

import pytest

from mapl.mechanisms import Task, make
from mapl.planning import Agreement
from mapl.planning.choosing.expectation import expect
from mapl.planning.choosing.limits import USEFUL, best_ladder, best_threshold_ladder, ladder_for, rungs_for
from mapl.types import Budget

DISCORD = Agreement.parse("0.95:0.5,0.7:0.3,0.55:0.2")


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_best_ladder_is_near_the_best_of_all_limits(epsilon: float) -> None:
    task = Task(Budget(epsilon, 1e-5), 250, 2, 500)
    ladder, found = best_ladder(task, DISCORD)
    assert ladder.chance_if_unanimous(250, 2) >= USEFUL
    ladders = [make("ladder", task, max_abstentions=limit) for limit in (1, 3, 8, 18, 40, 90, 200, 450)]
    useful = [made for made in ladders if made.chance_if_unanimous(250, 2) >= USEFUL]
    assert found.answered >= 0.97 * max(expect(made, task, DISCORD).answered for made in useful)


def test_the_best_threshold_ladder_keeps_its_few_abstentions() -> None:
    task = Task(Budget(2.0, 1e-5), 250, 2, 3)
    ladder, found = best_threshold_ladder(task, DISCORD)
    assert ladder.max_abstentions <= 3
    assert found == expect(ladder, task, DISCORD)


def test_similar_numbers_of_teachers_share_one_table_that_reaches_far_enough() -> None:
    budget = Budget(2.0, 1e-5)
    assert ladder_for(budget, 7, rungs_for(251)) is ladder_for(budget, 7, rungs_for(200))
    for teachers in (1, 63, 64, 250, 1000, 10**6):
        assert rungs_for(teachers) >= min(teachers // 2 + 1, 5000)
    assert ladder_for(budget, 7, rungs_for(250)).certify(budget)
