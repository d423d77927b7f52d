"""Runs that share one budget, as a plan records them: refusals, rounding, JSON both ways."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.errors import GuaranteeBroken, InvalidData
from mapl.planning.budgets.earlier_runs import EarlierRun, compose_runs
from mapl.planning.budgets.several_runs import ContinuedBudget, Promised
from mapl.planning.plan import Plan, Stage, canonical
from mapl.types import Budget

BEFORE = ContinuedBudget(Budget(3.0, 1e-5), "labels", "record", (Promised("january", 1.0, 1e-6, "ab", "cd", "1d"),))


def plan(budget: Budget, together: ContinuedBudget | None, *, unit: str = "record") -> Plan:
    stages = (Stage("labels", "ladder", {}, budget),)
    return Plan(("no", "yes"), 9, "labels", unit, 5, budget, stages, "as asked", together)


def test_a_plan_takes_no_more_than_is_left() -> None:
    assert plan(Budget(2.0, 9e-6), BEFORE).together == BEFORE
    for budget in (Budget(2.0000001, 1e-6), Budget(1.0, 9.1e-6)):
        with pytest.raises(GuaranteeBroken, match=r"more than earlier runs .*adjacency: labels; unit: record"):
            plan(budget, BEFORE)
    with pytest.raises(GuaranteeBroken, match="do not add up to one promise"):
        plan(Budget(1.0, 1e-6), BEFORE, unit="patient")


def test_it_is_part_of_the_plan_and_of_its_digest() -> None:
    alone, after = plan(Budget(1.0, 1e-6), None), plan(Budget(1.0, 1e-6), BEFORE)
    assert Plan.from_json(after.to_json()) == after
    assert after.digest != alone.digest
    assert "together" not in json.loads(alone.to_json())
    damaged = json.loads(after.to_json())
    del damaged["together"]["runs"][0]["ledger_head"]
    with pytest.raises(InvalidData):
        Plan.from_json(json.dumps(damaged))


@given(st.lists(st.floats(0.001, 2.0), min_size=1, max_size=4), st.floats(0.001, 2.0))
def test_the_total_is_never_said_too_small(spent: list[float], new: float) -> None:
    runs = tuple(Promised(str(k), epsilon, 0.0, "", None) for k, epsilon in enumerate(spent))
    total = ContinuedBudget(Budget(20.0, 0.0), "labels", "record", runs).with_new(Budget(new, 0.0))
    assert Fraction(total.epsilon) >= sum(map(Fraction, spent), Fraction(new))


def test_runs_that_a_run_went_on_from_count_once() -> None:
    first = EarlierRun("jan", 1.0, 1e-6, "labels", "record", place="/runs/jan", digest="ab", run_id="1d")
    second = EarlierRun(
        "february", 0.5, 1e-6, "labels", "record", head="ef", place="/runs/february", before=BEFORE.runs
    )
    for given_runs in ([second], [first, second], [second, first]):
        found = compose_runs(given_runs)
        assert found is not None
        assert found.epsilon == 1.5
        assert {run.run_id for run in found.going_on(Budget(3.0, 1e-5)).runs} == {"1d", None}
    unfinished = EarlierRun("january", 1.0, 1e-6, "labels", "record", place="/runs/january", digest="ab")
    found = compose_runs([unfinished, second])
    assert found is not None
    assert found.epsilon == 2.5  # nothing tells that they are the same


def test_plans_of_a_mapl_without_run_ids_keep_their_digest() -> None:
    before = replace(BEFORE, runs=(replace(BEFORE.runs[0], run_id=None),))
    written = json.loads(plan(Budget(1.0, 1e-6), before).to_json())
    assert written["together"]["runs"] == [
        {"run": "january", "epsilon": 1.0, "delta": 1e-6, "plan_digest": "ab", "ledger_head": "cd"}
    ]
    # As an earlier mapl wrote and hashed it.
    assert Plan.from_json(json.dumps(written)).digest == sha256(canonical(written).encode()).hexdigest()
