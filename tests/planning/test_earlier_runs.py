"""Earlier runs: what they promised adds up, and what is left of a budget is never too much."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.data.tables.classes import Classes
from mapl.errors import CannotCalibrate, InvalidData, InvalidParameter
from mapl.pipeline.request import Request
from mapl.planning.budgets.earlier_runs import NOTHING, EarlierRun, EarlierRuns, compose_runs
from mapl.planning.plan import Plan, Stage
from mapl.release.ledger.chain import ANSWERS, START, Answers, Entry
from mapl.release.ledger.limits import Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.statement.promise import promise_of
from mapl.types import Budget


def plan(epsilon: float = 1.0, *, adjacency: str = "add-remove", unit: str = "patient") -> Plan:
    budget = Budget(epsilon, 1e-6)
    return Plan(("no", "yes"), 250, adjacency, unit, 1000, budget, (Stage("labels", "ladder", {}, budget),), "")


def statement(of: Plan, **changes: Any) -> str:
    said = {
        "guaranteed_epsilon": 0.98,
        "epsilon": 0.4,
        "delta": 1e-6,
        "private": True,
        "plan_digest": of.digest,
        "ledger_head": "ab12",
    }
    return json.dumps(said | changes)


def run(name: str = "one", epsilon: float = 1.0, delta: float = 1e-6, head: str | None = None) -> EarlierRun:
    return EarlierRun(name, epsilon, delta, "add-remove", "patient", head or name)


@pytest.mark.parametrize("guaranteed", [0.0, 1e-9, 0.98, 1.0])
def test_a_finished_run_counts_with_the_budget_of_its_plan_however_little_its_statement_says(
    guaranteed: float,
) -> None:
    planned = plan()
    said = statement(planned, guaranteed_epsilon=guaranteed, delta=0.0)
    found = EarlierRun.of("one", plan=planned.to_json(), statement=said)
    assert (found.epsilon, found.delta, found.head) == (1.0, 1e-6, "ab12")
    assert (found.adjacency, found.unit) == ("add-remove", "patient")


def test_a_statement_that_says_more_than_the_plan_counts() -> None:
    planned = plan()
    said = statement(planned, guaranteed_epsilon=1.25, delta=1e-5)
    found = EarlierRun.of("one", plan=planned.to_json(), statement=said)
    assert (found.epsilon, found.delta) == (1.25, 1e-5)


def test_an_unfinished_run_counts_with_its_whole_plan() -> None:
    found = EarlierRun.of("one", plan=plan(1.5).to_json(), statement=None)
    assert (found.epsilon, found.delta, found.head) == (1.5, 1e-6, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"private": False},
        {"guaranteed_epsilon": "inf"},
        {"guaranteed_epsilon": None},
        {"guaranteed_epsilon": 10**400},
        {"delta": None},
    ],
)
def test_a_run_without_privacy_cannot_be_composed(changes: dict[str, Any]) -> None:
    planned = plan()
    with pytest.raises(InvalidParameter, match="one was not private"):
        EarlierRun.of("one", plan=planned.to_json(), statement=statement(planned, **changes))


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "[" * 100_000])
def test_damaged_files_are_refused(text: str) -> None:
    with pytest.raises(InvalidData, match="statement of one is damaged"):
        EarlierRun.of("one", plan=plan().to_json(), statement=text)
    with pytest.raises(InvalidData, match=r"plan\.json of one is damaged"):
        EarlierRun.of("one", plan=text, statement=None)


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": ["a"]},
        {"adjacency": None},
        {"n_teachers": "many"},
        {"classes": [["no"], ["yes"]]},
        {"budget": {"epsilon": 10**400, "delta": 1e-6}},
        {"budget": {"epsilon": math.inf, "delta": 1e-6}},
        {"schema": 99},
    ],
)
def test_a_plan_that_mapl_did_not_write_is_refused(changes: dict[str, Any]) -> None:
    text = json.dumps(json.loads(plan().to_json()) | changes)
    with pytest.raises(InvalidData, match=r"plan\.json of one is damaged"):
        EarlierRun.of("one", plan=text, statement=None)


def test_plan_and_statement_must_belong_together() -> None:
    with pytest.raises(InvalidData, match="another plan"):
        EarlierRun.of("one", plan=plan(2.0).to_json(), statement=statement(plan(1.0)))


def test_what_is_left_is_the_total_minus_all_promises() -> None:
    runs = EarlierRuns((run("one", 1.0), run("two", 0.5)))
    assert (runs.epsilon, runs.delta) == (1.5, 2e-6)
    rest = runs.rest(epsilon=2.0, delta=1e-5)
    assert rest.epsilon == 0.5
    assert rest.delta == pytest.approx(8e-6)


@given(
    spent=st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=6),
    total=st.floats(1e-3, 10.0),
)
def test_the_rest_never_exceeds_the_total_not_even_by_rounding(spent: list[float], total: float) -> None:
    runs = EarlierRuns(tuple(run(str(i), epsilon, 1e-9) for i, epsilon in enumerate(spent)))
    assert Fraction(runs.epsilon) >= sum(map(Fraction, spent))
    try:
        rest = runs.rest(epsilon=total, delta=1e-5)
    except CannotCalibrate:
        assert sum(map(Fraction, spent)) >= (1 - NOTHING) * Fraction(total)
    else:
        assert Fraction(rest.epsilon) + sum(map(Fraction, spent)) <= Fraction(total)
        assert Fraction(rest.delta) + len(spent) * Fraction(1e-9) <= Fraction(1e-5)


@pytest.mark.parametrize(("epsilon", "delta", "what"), [(1.0, 1e-5, "epsilon"), (2.0, 1e-7, "delta")])
def test_an_exhausted_budget_is_said_with_its_terms(epsilon: float, delta: float, what: str) -> None:
    with pytest.raises(CannotCalibrate, match=f"exhausted.*unit: patient.*Nothing is left of {what}"):
        EarlierRuns((run(),)).rest(epsilon=epsilon, delta=delta)


def test_what_decimals_leave_is_nothing() -> None:
    tenths = EarlierRuns(tuple(run(str(i), 0.1, 0.0) for i in range(3)))
    with pytest.raises(CannotCalibrate, match=r"0, 1, 2 have together promised.*Nothing is left of epsilon"):
        tenths.rest(epsilon=0.1 + 0.2 + 1e-8, delta=1e-5)


@given(spent=st.floats(1e-9, 10.0), new=st.floats(1e-9, 10.0))
def test_the_total_with_a_new_run_is_never_too_small(spent: float, new: float) -> None:
    total = EarlierRuns((run(epsilon=spent),)).together_with(Budget(new, 1e-7))
    assert Fraction(total.epsilon) >= Fraction(spent) + Fraction(new)
    assert total.epsilon == pytest.approx(spent + new)
    assert total.delta == pytest.approx(1.1e-6)


def test_a_rest_of_delta_may_be_nothing() -> None:
    assert EarlierRuns((run(),)).rest(epsilon=3.0, delta=1e-6) == Budget(2.0, 0.0)


@pytest.mark.parametrize("other", [{"adjacency": "labels"}, {"unit": "record"}])
def test_different_promises_do_not_add_up(other: dict[str, str]) -> None:
    changed = replace(run("two"), **other)
    with pytest.raises(InvalidParameter, match="promise different things"):
        EarlierRuns((run(), changed))
    with pytest.raises(InvalidParameter, match="do not add up"):
        EarlierRuns((run(),)).refuse_other(**{"adjacency": None, "unit": None} | other)


def test_the_same_promise_is_no_reason_to_refuse() -> None:
    EarlierRuns((run(),)).refuse_other(adjacency="add-remove", unit=None)


def test_one_run_is_not_counted_twice() -> None:
    one = replace(run("one"), run_id="1d", place="/runs/one")
    with pytest.raises(InvalidParameter, match=r"one is given twice \(also as copy\)"):
        EarlierRuns((one, replace(one, name="copy", place="/backup/one")))


def test_runs_without_an_id_are_two_runs_whatever_else_is_alike() -> None:
    one, alike = run("one", head="ab"), run("one", head="ab")
    assert EarlierRuns((one, alike)).epsilon == 2.0
    found = compose_runs([one, replace(run("later", epsilon=0.5), before=(alike.promised(),))])
    assert found is not None
    assert found.epsilon == 2.5


@pytest.mark.parametrize("said", [None, "", "ab12", 7, ["ab"], "1D" * 16])
def test_what_is_no_id_that_mapl_drew_is_none(said: Any) -> None:
    planned = plan()
    known = EarlierRun.of("one", plan=planned.to_json(), statement=statement(planned, run_id="1d" * 16))
    assert known.run_id == "1d" * 16
    assert EarlierRun.of("one", plan=planned.to_json(), statement=statement(planned, run_id=said)).run_id is None


def test_runs_that_published_the_same_are_two_runs() -> None:
    """Two runs of one plan with equal outcomes, in folders of one name: 2 and 2, then 3, leave nothing of 7."""
    planned = plan(2.0)
    one, alike = (published(planned, place=f"/{where}/january") for where in ("a", "b"))
    assert one.head != alike.head
    assert EarlierRuns((one, alike)).epsilon == 4.0
    third = replace(run("march", epsilon=3.0), place="/runs/march", run_id="3d", before=(one.promised(),))
    for given_runs, total in (([alike, third], 7.0), ([one, third], 5.0), ([one, alike, third], 7.0)):
        found = compose_runs(given_runs)
        assert found is not None
        assert found.epsilon == total
    found = compose_runs([alike, third])
    assert found is not None
    with pytest.raises(CannotCalibrate, match=r"have together promised epsilon 7 .*Nothing is left of epsilon"):
        found.rest(epsilon=7.0, delta=1e-5)


def published(planned: Plan, *, place: str) -> EarlierRun:
    """Publish the same labels as every other run of this plan, and read the run as a later one does."""
    ledger = MemoryLedger()
    ledger.open(planned.digest, Limits.of_plan(planned))
    ledger.append(Entry(START, "labels"))
    ledger.append(Entry(ANSWERS, "labels", 2), answers=Answers(np.array([1, 0], dtype=np.int8), None, 2))
    said = statement(planned, ledger_head=ledger.head, run_id=ledger.run_id)
    return EarlierRun.of("january", plan=planned.to_json(), statement=said, place=place)


def test_an_unfinished_run_is_known_by_its_place() -> None:
    one, same, other = (
        EarlierRun.of(name, plan=plan().to_json(), statement=None, place=place)
        for name, place in [("a", "/runs/a"), ("../runs/a", "/runs/a"), ("b", "/runs/b")]
    )
    assert EarlierRuns((one, other)).epsilon == 2.0
    with pytest.raises(InvalidParameter, match=r"a is given twice \(also as \.\./runs/a\)"):
        EarlierRuns((one, other, same))


def test_no_runs_compose_to_nothing() -> None:
    assert compose_runs([]) is None
    with pytest.raises(InvalidParameter, match="no earlier runs"):
        EarlierRuns(())


def test_what_decimals_leave_of_delta_is_nothing() -> None:
    runs = [EarlierRun(str(k), 0.1, delta, "add-remove", "record") for k, delta in enumerate((1e-5, 9e-5))]
    assert EarlierRuns(tuple(runs)).rest(epsilon=1.0, delta=1.0000000000001e-4).delta == 0


@pytest.mark.parametrize("unit", [promise_of("add-remove", "record").unit, promise_of("labels", "record").unit])
def test_a_column_called_record_is_not_taken_for_single_records(unit: str) -> None:
    of = plan(unit="record")
    single = EarlierRun.of(
        "a", plan=of.to_json(), statement=statement(of, unit=promise_of("add-remove", None).unit)
    )
    assert single.unit == "record"
    with pytest.raises(InvalidParameter, match="The unit of a is a column called 'record'"):
        EarlierRun.of("a", plan=of.to_json(), statement=statement(of, unit=unit))
    before, classes = EarlierRuns((single,)).going_on(Budget(3.0, 1e-5)), Classes(("no", "yes"))
    assert Request(Budget(1.0, 1e-6), classes, together=before).unit_name == "record"
    with pytest.raises(InvalidParameter, match="The column of ids is called 'record'"):
        Request(Budget(1.0, 1e-6), classes, unit="record", together=before)
