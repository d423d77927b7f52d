"""How soft labels are rounded, and how many refusals are paid for."""

from __future__ import annotations

import pytest

from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, make
from mapl.mechanisms.scores.scores import TOP
from mapl.planning.rules.soft import ALMOST_SURE, abstentions_for, grid_for, width_for
from mapl.types import Budget


def test_width_is_twice_the_spread_by_questions_per_refusal() -> None:
    assert width_for(0.01, 1000, 500) == 114  # 2 sqrt(8) 0.01 1000 / 500, in thousandths, rounded up
    assert width_for(0.0, 1000, 500) == 1
    assert width_for(0.5, 1000, 1) == TOP // 2
    assert grid_for(0.01, 1000, 500).shift is None
    with pytest.raises(InvalidParameter, match="spread"):
        width_for(1.5, 10, 1)


def test_as_many_refusals_as_still_answer_agreement() -> None:
    task = Task(Budget(2.0, 1e-5), 200, 2, 1000)
    found = abstentions_for("ladder", task)
    assert found > 1
    assert make("ladder", task, max_abstentions=found).chance_if_unanimous(200, 2) >= ALMOST_SURE
    assert make("ladder", task, max_abstentions=found + 1).chance_if_unanimous(200, 2) < ALMOST_SURE


def test_few_teachers_pay_for_one() -> None:
    assert abstentions_for("ladder", Task(Budget(0.5, 1e-5), 20, 2, 1000)) == 1
