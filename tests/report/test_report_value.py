"""The report as a value: files that belong together, fail-closed privacy, evaluation by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from public_files import Run, learned

from mapl.errors import InvalidData, LedgerTampered
from mapl.report import Evaluation, Report


def test_a_private_run_is_reported_as_such(private_run: Run) -> None:
    report = private_run.report()
    statement = private_run.statement
    promise = report.guarantee
    assert promise.holds
    assert promise.within_budget
    assert (promise.epsilon, promise.delta) == (statement["guaranteed_epsilon"], statement["delta"])
    assert (promise.unit, promise.adjacency) == (statement["unit"], statement["adjacency"])
    assert promise.kind == "teacher"
    assert promise.risk is not None
    assert report.coverage.overall.labelled == statement["answered"]
    assert not report.method.sharded_by_mapl


def test_a_report_compares_by_value_and_cannot_be_changed(private_run: Run) -> None:
    assert private_run.report() == private_run.report()
    with pytest.raises(AttributeError):
        private_run.report().assumptions = ()  # type: ignore[misc]


@pytest.mark.parametrize("private", [False, None, "true", 1, "absent"])
def test_what_does_not_say_that_it_is_private_is_not(private_run: Run, private: Any) -> None:
    statement = dict(private_run.statement, private=private)
    if private == "absent":
        del statement["private"]
    report = private_run.report(statement=statement)
    assert not report.guarantee.holds
    assert report.guarantee.risk is None


def test_an_infinite_epsilon_is_not_private_whatever_is_claimed(noiseless_run: Run) -> None:
    claimed = noiseless_run.statement | {"private": True}
    assert claimed["guaranteed_epsilon"] == "inf"
    assert not noiseless_run.report(statement=claimed).guarantee.holds


def test_overspending_is_seen(private_run: Run) -> None:
    statement = private_run.statement
    assert not private_run.report(statement=statement | {"epsilon": 1.6}).guarantee.within_budget
    assert not private_run.report(statement=statement | {"budget_epsilon": 0.1}).guarantee.within_budget
    exact = {"guaranteed_epsilon": 0.1 + 0.2, "budget_epsilon": 0.3, "epsilon": 0.2}
    assert private_run.report(statement=statement | exact).guarantee.within_budget


def test_plan_and_ledger_are_checked_and_their_stages_laid_side_by_side(learned_run: Run) -> None:
    report = learned_run.report()
    assert report.guarantee.kind == "add-remove"
    assert report.trail.plan_checked
    assert report.trail.ledger_checked
    assert report.trail.ledger_head == learned_run.statement["ledger_head"]
    stages = {stage.name: stage for stage in report.method.stages}
    assert (stages["error"].planned_epsilon, stages["error"].epsilon, stages["error"].delta) == (0.3, 0.3, 0.0)
    assert (stages["labels"].planned_epsilon, stages["labels"].epsilon, stages["labels"].delta) == (1.2, 1.19, 1e-5)
    estimated, counted = report.trail.counts
    assert (estimated.answered, estimated.most_answered, estimated.most_abstained) == (1, 1, 0)
    assert counted.answered == learned_run.statement["answered"]
    assert counted.most_abstained == 15


@pytest.mark.parametrize("schema", [1, 2])
def test_a_run_without_a_plan_is_one_stage(private_run: Run, schema: int) -> None:
    since_schema_2 = {"stages", "plan_digest", "ledger_head"} if schema == 1 else set()
    statement = {name: value for name, value in private_run.statement.items() if name not in since_schema_2}
    (stage,) = private_run.report(statement=statement).method.stages
    assert stage.name == "labels"
    assert stage.planned_epsilon == statement["budget_epsilon"]
    assert stage.epsilon == statement["guaranteed_epsilon"]
    assert stage.delta == statement["delta"]


def test_files_of_different_runs_are_refused(learned_run: Run) -> None:
    other = learned(("low", "high"))
    with pytest.raises(InvalidData, match=r"The plan and the statement have different digests"):
        learned_run.report(plan=other.plan)
    with pytest.raises(InvalidData, match=r"The ledger and the statement have different digests"):
        learned_run.report(ledger=other.ledger)
    fewer = learned_run.labels.slice(1)
    with pytest.raises(InvalidData, match=r"the statement and the labels of the same run"):
        learned_run.report(labels=fewer)


def test_a_broken_chain_is_refused(learned_run: Run) -> None:
    assert learned_run.ledger is not None
    changed = [dict(entry) for entry in learned_run.ledger]
    changed[-1]["answered"] -= 1
    with pytest.raises(LedgerTampered):
        learned_run.report(ledger=changed)
    with pytest.raises(InvalidData, match="different digests"):
        learned_run.report(ledger=learned_run.ledger[:-1])


def test_a_statement_without_numbers_is_refused(private_run: Run) -> None:
    with pytest.raises(InvalidData, match=r"no number 'guaranteed_epsilon'; give a statement.json that mapl wrote"):
        Report.of({"private": True}, plan=None, labels=private_run.labels, classes=private_run.classes)


def test_evaluation_counts_by_hand(evaluation: Evaluation) -> None:
    no, yes = evaluation.per_class
    assert (evaluation.rows, evaluation.right, evaluation.accuracy) == (10, 8, 0.8)
    assert (no.rows, no.found, no.predicted) == (5, 4, 5)
    assert (yes.recall, yes.precision) == (0.8, 0.8)
    # Wilson's interval of 8 out of 10, as tables print it.
    assert evaluation.interval == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_a_class_without_rows_has_no_accuracy() -> None:
    none = Evaluation.of(np.array([0, 0]), np.array([0, 0]), classes=("no", "yes")).per_class[1]
    assert none.recall is None
    assert none.precision is None
    with pytest.raises(InvalidData, match="one of each per row"):
        Evaluation.of(np.array([0]), np.array([0, 1]), classes=("no", "yes"))
