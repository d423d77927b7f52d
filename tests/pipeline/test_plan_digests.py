"""Plans keep their digests: a ledger that an earlier mapl began is gone on with by this one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mapl
from mapl.data import Classes, draft_schema
from mapl.pipeline.counts.cells_plan import plan_cells
from mapl.pipeline.methods.selection import plan_selection
from mapl.pipeline.request import Request
from mapl.pipeline.votes.active_plan import plan_questions
from mapl.pipeline.votes.multi_label_plan import plan_labels
from mapl.pipeline.votes.soft_labelling import plan_soft
from mapl.pipeline.votes.teachers_plan import plan_teachers
from mapl.planning.budgets.several_runs import ContinuedBudget, Promised
from mapl.planning.plan import Plan
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.prices.offers import Wanted, best_offer
from mapl.prediction.spending.many_answers import Answering, plan_of
from mapl.prediction.spending.one_rule import plan_of_release
from mapl.release.best_of import BestOf
from mapl.release.queries.oracle import StableOracle
from mapl.students.active import Active
from mapl.types import Budget

TWO = Classes(("no", "yes"))
BUDGET = Budget(2.0, 1e-6)
BEFORE = ContinuedBudget(Budget(5.0, 1e-5), "replace-one", "person", (Promised("january", 1.0, 1e-6, "ab", "cd"),))


def by_teachers() -> Plan:
    asked = Request(BUDGET, TWO, n_teachers=200, mechanism="ladder", settings={"max_abstentions": 5})
    return plan_teachers(asked, 100).plan


def after_an_estimate() -> Plan:
    return plan_teachers(Request(BUDGET, TWO, n_teachers=200, mechanism="link", error_share=0.2), 100).plan


def by_cells() -> Plan:
    rows = pa.table({"x": np.linspace(0, 1, 40)})
    asked = Request(
        BUDGET, TWO, n_cells=8, method="cells", rounds=2, adjacency="replace-one", unit="person", together=BEFORE
    )
    return plan_cells(asked, rows, draft_schema(rows), None, why="cells as asked").plan


def by_questions() -> Plan:
    return plan_questions(Request(BUDGET, TWO, n_teachers=100, n_queries=30), Active("margin", "hybrid"), 120).plan


def by_soft_labels() -> Plan:
    return plan_soft(Request(BUDGET, TWO, n_teachers=200, adjacency="labels"), 300, "soft-both").plan


def by_selection() -> Plan:
    asked = Request(BUDGET, TWO, n_teachers=200, method="select:teachers,cells")
    whole = replace(asked, method="teachers", mechanism="link")
    little, rest = (replace(whole, budget=budget) for budget in (Budget(0.5, 5e-7), Budget(1.0, 5e-7)))
    tried, won = ({"teachers": plan_teachers(one, 100).plan} for one in (little, rest))
    return plan_selection(asked, tried, won, BestOf(0.5, 2))


def of_several_labels() -> Plan:
    return plan_labels(Request(BUDGET, TWO, n_teachers=100, mechanism="link"), ("a", "b"), 40).plan


def of_stable_queries() -> Plan:
    return StableOracle([], epsilon=1.0, delta=1e-6).plan


def of_single_answers() -> Plan:
    wanted = Wanted(Budget(2.0, 0.0), 5, Thresholds(), "replace-one", 300)
    return plan_of(Answering.of(best_offer(wanted, "padded-stumps"), wanted), wanted, ("no", "yes"))


def of_one_rule() -> Plan:
    return plan_of_release(Budget(0.5, 0.0), Thresholds(), "add-remove", ("no", "yes"), 9)


DIGESTS: dict[Callable[[], Plan], str] = {
    by_teachers: "84496bb0741cde8c9732325ff5bbeffd1defa3029e8c0d9e62ad5509e08bacf1",
    after_an_estimate: "bf8ec25a4d5004c339d736eaa5b05686f1938ef899f4b1ec125ff1a177d201f2",
    by_cells: "957136f89de47c092f4c04a65f53a969b561c61a8722244c9e6ef8e58f43a8ff",
    by_questions: "f563e92557bf076a121c7439c3942b3d7e872e66d04e810f42a8598e767f5bd7",
    by_soft_labels: "3a2202d9d257edc806179f68ea7cd96e938a816b300b877c1182b385ca883fd5",
    by_selection: "590cb39b23cf24d86522a512f51e887d0b70a7459f318526d678c5fec13afc7b",
    of_several_labels: "dc4001e4c143bebe90f18277bdbde79c7f14f3441b8a7ed4f4a4396a0dda7615",
    of_stable_queries: "43af9c8ccbc328c67035a16d4d2be9a47bf3d4a0f909a598eb596c28bf221409",
    of_single_answers: "73564d48b3043155dd832b18544fbf3ac59e08f86bfd5f1459f8a342d4e7c1fa",
    of_one_rule: "645a8547208f5b16adfe66409d885020dca452c035f91e7be3059fee2c4bcfdc",
}
"""As mapl 0.2.0 had them, but for the parameters of stages: they are calibrated, and machines round otherwise. That
of a selection is of November 2026, when it came to share epsilon instead of units."""


def content(plan: Plan) -> Plan:
    return replace(plan, stages=tuple(replace(stage, parameters={}) for stage in plan.stages))


@pytest.mark.parametrize("make", DIGESTS, ids=lambda make: make.__name__)
def test_a_plan_has_the_digest_that_it_always_had(make: Callable[[], Plan]) -> None:
    assert content(make()).digest == DIGESTS[make]


def test_plans_are_built_in_one_place() -> None:
    root = Path(mapl.__file__).parent
    calls = re.compile(r"(?<!>>> plan = )\bPlan\(")  # but for the example in its docstring
    makers = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if calls.search(path.read_text())]
    assert makers == ["planning/plan_maker.py"]
