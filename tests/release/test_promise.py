"""The words of the promises, and statements that carry them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, make
from mapl.noise import SystemCoins
from mapl.release import Statement, aggregate, promise_of, statement_of
from mapl.release.statement.assumptions import Assumptions
from mapl.release.statement.promise import TEACHER_PROMISE, Promise
from mapl.release.statement.statement import StageSpend, add_costs
from mapl.types import ADJACENCY, UNIT, Budget, Tallies

TASK = Task(Budget(0.9, 1e-6), 250, 2, 30)
VOTES = Tallies.checked(np.tile([[240, 10], [20, 230]], (15, 1)))


def stated(**given: Any) -> Statement:
    coins, mechanism = SystemCoins(), make("ladder", TASK, max_abstentions=5)
    return statement_of(mechanism, TASK, aggregate(VOTES, mechanism, coins), coins, **given)


def test_votes_alone_promise_as_before() -> None:
    assert (TEACHER_PROMISE.adjacency, TEACHER_PROMISE.unit) == (ADJACENCY, UNIT)
    said = stated()
    assert (said.adjacency, said.unit, said.assumptions) == (ADJACENCY, UNIT, TEACHER_PROMISE.assumptions)
    assert "had one teacher been trained on entirely different records:" in said.in_plain_words
    assert said.stages == (StageSpend("labels", "ladder", said.guaranteed_epsilon, 1e-6),)
    assert (said.plan_digest, said.ledger_head) == (None, None)


PROMISES = {
    ("add-remove", None): (
        "one record is added to",
        "one row of the private table",
        "had any one record been left out of",
    ),
    ("add-remove", "patient_id"): (
        "all records of one patient_id are added to the private table or removed from it",
        "one patient_id, that is all records with one value of the column patient_id",
        "had the records of any one patient_id been left out of the private table or added to it",
    ),
    ("replace-one", "patient_id"): (
        "the records of one patient_id are replaced by any other records with the same patient_id",
        "all records with one value of the column patient_id",
        "had the records of any one patient_id said something entirely different",
    ),
    ("labels", None): (
        "the label of one record changes; features and number",
        "the label of one record",
        "had the label",
    ),
    ("labels", "patient_id"): (
        "the labels of all records of one patient_id change; features, patient_id and number of rows are the same",
        "the labels of all records with one value of patient_id",
        "had the labels of any one patient_id been different",
    ),
}


@pytest.mark.parametrize(("given", "words"), PROMISES.items())
def test_a_promise_names_adjacency_and_unit_everywhere(given: Any, words: tuple[str, str, str]) -> None:
    promise = promise_of(*given)
    said = stated(promise=promise)
    assert words[0] in said.adjacency
    assert words[1] in said.unit
    assert words[2] in said.in_plain_words
    for part in (promise.adjacency, promise.unit):
        assert part in said.in_plain_words
    assert "teacher" not in promise.adjacency + promise.unit + promise.words
    stored = json.loads(said.to_json())
    assert (stored["checked"], stored["assumptions"]) == (list(promise.checked), list(promise.assumptions))


@pytest.mark.parametrize("given", PROMISES)
def test_assumptions_say_what_is_checked_and_what_is_left(given: Any) -> None:
    promise = promise_of(*given)
    assert len({*promise.checked, *promise.assumptions}) == len(promise.checked) + len(promise.assumptions)
    checked, left = " ".join(promise.checked), " ".join(promise.assumptions)
    for part in ("disjoint", "exactly once", "on disk before"):
        assert part in checked
    for part in ("without looking at the private rows", "stays private", "add up"):
        assert part in left
    assert ("k records" in left) == (given[1] is None)


def test_what_is_checked_is_told_from_what_is_left_in_statements_of_any_version() -> None:
    now = {"checked": ["Shards are disjoint."], "assumptions": ["Nobody looked."]}
    before = {"assumptions": ["Checked by mapl: shards are disjoint.", "For you to see to: nobody looked."]}
    told = Assumptions(("Shards are disjoint.",), ("Nobody looked.",))
    assert Assumptions.of(now) == Assumptions.of(before) == told
    votes_only = {"assumptions": ["Every teacher voted once."]}
    assert Assumptions.of(votes_only) == Assumptions((), ("Every teacher voted once.",))
    assert Assumptions.of({}) == Assumptions((), ())


def test_replacing_a_record_that_is_its_own_id_is_refused() -> None:
    with pytest.raises(InvalidParameter, match='two teachers change; give unit="COLUMN", or take add-remove'):
        promise_of("replace-one", None)
    with pytest.raises(InvalidParameter, match="choose add-remove, replace-one or labels"):
        promise_of("none", None)  # type: ignore[arg-type]


def test_stages_add_up() -> None:
    alone = stated()
    said = stated(
        promise=Promise("a", "u", ("x",), "it been so"),
        earlier=(StageSpend("error", "error-estimate", 0.1, 0.0),),
        plan_digest="p" * 64,
        ledger_head="h" * 64,
    )
    assert [(s.name, s.mechanism) for s in said.stages] == [("error", "error-estimate"), ("labels", "ladder")]
    assert said.guaranteed_epsilon == pytest.approx(alone.guaranteed_epsilon + 0.1)
    # What was published differs from run to run; the estimate's part of the price does not.
    assert 0.1 <= said.epsilon <= said.guaranteed_epsilon <= said.budget_epsilon == pytest.approx(1.0)
    assert Fraction(said.guaranteed_epsilon) >= sum(Fraction(s.epsilon) for s in said.stages)
    assert said.delta == 1e-6
    assert "together with what the run released before them (error)" in said.in_plain_words
    written = json.loads(said.to_json())
    stage = {"name": "error", "mechanism": "error-estimate", "epsilon": 0.1, "delta": 0.0, "units": "all"}
    assert written["stages"][0] == stage
    assert (written["plan_digest"], written["ledger_head"]) == ("p" * 64, "h" * 64)


def test_sums_of_costs_are_rounded_up() -> None:
    assert add_costs([0.1, 0.9]) == math.nextafter(1.0, 2.0)
    assert add_costs([0.5, 0.25]) == 0.75
    assert add_costs([2]) == 2
    assert add_costs([1.0, math.inf]) == math.inf
    parts = [0.1] * 10
    assert Fraction(add_costs(parts)) >= sum(map(Fraction, parts))
