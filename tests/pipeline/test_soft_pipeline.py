"""Plans of soft labels, spreads measured on public rows, and what one record can change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.pipeline.place import Workplace
from mapl.pipeline.rehearsal.soft_spread import measure_spread
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Effort, assign_shards
from mapl.pipeline.votes.soft_labelling import DESIGNS, plan_soft, soft_label, targets_of
from mapl.planning import Agreement
from mapl.planning.plan import Plan
from mapl.release import MemoryLedger
from mapl.teachers import as_learner
from mapl.teachers.learners.scores import ScoreBallot
from mapl.teachers.learners.shares import score_learner
from mapl.types import Budget

TWO = Classes(("no", "yes"))
BUDGET = Budget(4.0, 1e-5)
LEARNER = score_learner(as_learner("logistic", TWO), TWO)


def people(n: int = 900, seed: int = 0) -> PrivateTable:
    draws = np.random.default_rng(seed)
    rows = draws.normal(size=(n, 3))
    labels = (draws.random(n) < 1 / (1 + np.exp(-3 * rows[:, 0]))).astype(np.int32)
    return PrivateTable(PrivateRows(rows), labels, None)


@pytest.mark.parametrize("strategy", DESIGNS)
def test_plans_keep_within_their_budget_and_read_back(strategy: str) -> None:
    made = plan_soft(Request(BUDGET, TWO, n_teachers=200), 300, strategy)
    plan = made.plan
    assert tuple(stage.name for stage in plan.stages) == DESIGNS[strategy]
    assert sum(stage.budget.epsilon for stage in plan.stages) <= BUDGET.epsilon
    assert sum(stage.budget.delta for stage in plan.stages) <= BUDGET.delta
    for stage, mechanism in zip(plan.stages, (made.design.medians, made.design.means), strict=False):
        if mechanism is not None and mechanism.name == stage.mechanism:
            assert mechanism.epsilon(None, stage.budget.delta) <= stage.budget.epsilon
    assert Plan.from_json(plan.to_json()) == plan
    assert plan_soft(Request(BUDGET, TWO, n_teachers=200), 300, strategy).plan.digest == plan.digest
    if made.design.means is not None and made.design.medians is not None:
        assert made.design.means.max_answers == plan.stages[0].parameters["max_abstentions"]


def test_the_spread_sets_the_width_of_cells() -> None:
    request = Request(BUDGET, TWO, n_teachers=200)
    wide, narrow = (plan_soft(request, 300, "soft-medians", spread=spread) for spread in (None, 0.001))
    assert wide.design.grid is not None
    assert narrow.design.grid is not None
    assert wide.design.grid.width > narrow.design.grid.width
    assert wide.plan.digest != narrow.plan.digest
    assert "on public rows" in narrow.plan.why


def test_few_refusals_are_warned_about() -> None:
    request = Request(Budget(1.0, 1e-5), TWO, n_teachers=200)
    warned = plan_soft(request, 3000, "soft-medians").warning
    assert warned is not None
    assert "means answer every question" in warned
    assert plan_soft(request, 3000, "soft").warning is None


@pytest.mark.parametrize(
    ("strategy", "given", "part"),
    [
        ("softer", {}, "soft labels have soft, soft-medians, soft-both"),
        ("soft", {"mechanism": "ladder"}, "releases through auto"),
        ("soft-medians", {"mechanism": "link"}, "ladder, threshold-ladder, stable-queries"),
        ("soft", {"error_share": 0.1}, "no place"),
        ("soft", {"may_abstain": True}, "no place"),
        ("soft-both", {"agreement": Agreement.parse("0.9:1")}, "no place"),
        ("soft-medians", {"classes": Classes(("a", "b", "c"))}, "3 classes"),
    ],
)
def test_refusals(strategy: str, given: dict[str, Any], part: str) -> None:
    settings = {"classes": TWO, "n_teachers": 100, **given}
    with pytest.raises(InvalidParameter, match=part):
        plan_soft(Request(BUDGET, settings.pop("classes"), **settings), 100, strategy)


def scores_of(table: PrivateTable, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Run everything with fixed key and coins; return the teachers' scores and what was released."""
    kept: list[Any] = []
    real = ScoreBallot.scores

    def noted(ballot: ScoreBallot) -> Any:
        kept.append(real(ballot))
        return kept[-1]

    monkeypatch.setattr(ScoreBallot, "scores", noted)
    planned = plan_soft(Request(BUDGET, TWO, n_teachers=20), 40)
    sharded = assign_shards(table, ShardKey(b"k" * 32), 20, "add-remove")
    public = np.random.default_rng(9).normal(size=(40, 3))
    place = Workplace(MemoryLedger())
    made = soft_label(sharded, public, planned, LEARNER, place, coins=SeededCoins(1), effort=Effort(1))
    monkeypatch.setattr(ScoreBallot, "scores", real)
    return kept[0].marks, targets_of(made)[0]


def test_one_record_changes_the_scores_of_one_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(400)
    fewer = table.take(np.arange(1, len(table.labels)))
    whole, told = scores_of(table, monkeypatch)
    without, told_without = scores_of(fewer, monkeypatch)
    assert len(np.flatnonzero((whole != without).any(axis=0))) == 1
    # With the same noise, a released mean moves by no more than one teacher in twenty can move it.
    assert 0 < np.abs(told - told_without).max() <= 1 / 20 + 1e-9


def test_spread_is_measured_on_public_rows_and_falls_with_their_number() -> None:
    table = people(6000)
    few, many = (measure_spread(LEARNER, table.rows.open(), table.labels, n, n_jobs=1) for n in (20, 200))
    assert few is not None
    assert many is not None
    assert 0 < many < few < 0.5
    assert measure_spread(LEARNER, table.rows.open()[:50], table.labels[:50], 20, n_jobs=1) is None
