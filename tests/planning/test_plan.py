"""Plans: JSON both ways, a digest of everything, and nothing that could change or exceed the budget."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms import REGISTRY, Task, make
from mapl.planning.plan import Condition, Plan, Stage, canonical, plain
from mapl.planning.plan_maker import Terms
from mapl.types import Budget

PLAN = Plan(
    classes=("no", "yes"),
    n_teachers=250,
    adjacency="add-remove",
    unit="patient_id",
    n_queries=1000,
    budget=Budget(2, 1e-6),
    stages=(
        Stage("error", "error-estimate", {"grain": 100, "max_answers": 1}, Budget(0.2, 0)),
        Stage(
            "labels",
            "ladder",
            {"order": 7.5, "max_abstentions": 20, "why": "größer", "flag": True},
            Budget(1.8, 1e-6),
        ),
    ),
    why="250 teachers as asked",
)


def test_a_plan_survives_json() -> None:
    again = Plan.from_json(PLAN.to_json())
    assert again == PLAN
    assert again.digest == PLAN.digest
    assert hash(again) == hash(PLAN)
    assert isinstance(again.stages[1].parameters["max_abstentions"], int)
    assert json.loads(PLAN.to_json())["stages"][1]["budget"] == {"epsilon": 1.8, "delta": 1e-6}


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
values = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), names, st.booleans()
)


@settings(max_examples=60, deadline=None)
@given(
    parameters=st.dictionaries(names, values, max_size=5),
    epsilon=st.floats(1e-3, 1e3),
    share=st.floats(0.01, 0.99),
    why=names,
)
def test_any_plan_survives_json(parameters: dict[str, Any], epsilon: float, share: float, why: str) -> None:
    stages = (
        Stage("error", "error-estimate", {}, Budget(share * epsilon, 0)),
        Stage("labels", "ladder", parameters, Budget(epsilon - share * epsilon, 1e-5)),
    )
    plan = replace(PLAN, budget=Budget(epsilon, 1e-5), stages=stages, why=why)
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert again.digest == plan.digest


@pytest.mark.parametrize("name", REGISTRY)
def test_every_mechanisms_parameters_fit_into_a_plan(name: str) -> None:
    task = Task(Budget(1, 1e-6), 250, 2, 1 if name == "stable-once" else 50)
    settings = {"max_abstentions": 5} if "max_abstentions" in REGISTRY[name].settings else {}
    parameters = make(name, task, **settings).parameters
    plan = replace(PLAN, stages=(Stage("labels", name, parameters, task.budget),))
    assert dict(Plan.from_json(plan.to_json()).stage("labels").parameters) == dict(parameters)


def test_the_digest_covers_everything() -> None:
    changed = [
        replace(PLAN, classes=("yes", "no")),
        replace(PLAN, n_teachers=251),
        replace(PLAN, adjacency="replace-one"),
        replace(PLAN, unit="record"),
        replace(PLAN, n_queries=999),
        replace(PLAN, budget=Budget(2, 1e-5)),
        replace(PLAN, stages=PLAN.stages[:1]),
        replace(PLAN, stages=PLAN.stages[::-1]),
        replace(PLAN, stages=(PLAN.stages[0], replace(PLAN.stages[1], parameters={"max_abstentions": 21}))),
        replace(PLAN, why=""),
    ]
    assert len({plan.digest for plan in (PLAN, *changed)}) == len(changed) + 1


def test_the_digest_depends_on_values_not_on_how_they_came() -> None:
    parameters = {"order": np.float64(7.5), "max_abstentions": np.int64(20), "flag": True, "why": "größer"}
    same = replace(
        PLAN,
        n_teachers=np.int64(250),
        budget=Budget(2.0, 1e-6),
        stages=(PLAN.stages[0], Stage("labels", "ladder", parameters, Budget(1.8, 1e-6))),
    )
    assert same.digest == PLAN.digest
    code = (
        "import sys; from mapl.planning.plan import Plan; p = Plan.from_json(sys.stdin.read()); print(p.digest);"
        "print([m for m in ('pyarrow', 'sklearn') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], input=PLAN.to_json(), capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines() == [PLAN.digest, "[]"]


def test_a_plan_does_not_change() -> None:
    given = {"max_abstentions": 20}
    stage = Stage("labels", "ladder", given, Budget(1, 0))
    given["max_abstentions"] = 10**6
    assert stage.parameters["max_abstentions"] == 20
    with pytest.raises(TypeError):
        stage.parameters["max_abstentions"] = 21  # type: ignore[index]
    for again in (copy.deepcopy(PLAN), pickle.loads(pickle.dumps(PLAN))):
        assert again == PLAN


def test_of_stages_that_exclude_one_another_the_dearest_counts() -> None:
    half, whole = Budget(0.5, 0.0), Budget(1.0, 1e-6)

    def stages(*conditions: Condition | None) -> tuple[Stage, ...]:
        after = [Stage(f"after {i}", "any", {}, whole, "others", one) for i, one in enumerate(conditions)]
        return (Stage("choice", "best-of", {}, half, "judges"), *after)

    plan = replace(PLAN, budget=whole, stages=stages(Condition("choice", 0), Condition("choice", 1)))
    assert Plan.from_json(plan.to_json()) == plan
    assert "only_if" not in PLAN.to_json()  # as plans were written before there were conditions
    for both in [(Condition("choice", 0), Condition("choice", 0)), (Condition("choice", 0), None)]:
        with pytest.raises(GuaranteeBroken, match="add up to epsilon 2 "):
            replace(plan, stages=stages(*both))
    for unknown in [(Condition("nobody", 0),), (Condition("after 0", 0),), (Condition("after 1", 0), None)]:
        with pytest.raises(InvalidParameter, match="wait for one stage of the plan that is before them"):
            replace(plan, stages=stages(*unknown))


def test_of_disjoint_parts_of_the_units_the_dearest_counts() -> None:
    one = Stage("one", "ladder", {}, Budget(1.5, 1e-6), "those here")
    two = Stage("two", "ladder", {}, Budget(2.0, 0), "those there")
    everybody = Stage("three", "ladder", {}, Budget(0.1, 0))
    parted = replace(PLAN, stages=(one, two))
    assert Plan.from_json(parted.to_json()) == parted
    assert replace(PLAN, stages=(one, replace(two, units="others"))).digest != parted.digest
    assert '"units"' not in PLAN.to_json()  # as plans were written, and hashed, before there were parts
    for too_much in (
        (one, two, everybody),
        (one, replace(two, units="those here")),
        (one, replace(two, units="all")),
    ):
        with pytest.raises(GuaranteeBroken, match="add up to epsilon"):
            replace(PLAN, stages=too_much)
    replace(PLAN, stages=(replace(one, budget=Budget(1.9, 1e-6)), everybody))


def test_stages_stay_within_the_budget() -> None:
    terms = r"allowed are 2 and 1e-06 \(adjacency: add-remove; unit: patient_id\)"
    with pytest.raises(GuaranteeBroken, match=rf"add up to epsilon 2\.3 and delta 1e-06; {terms}"):
        replace(PLAN, stages=(PLAN.stages[1], Stage("more", "ladder", {}, Budget(0.5, 0))))
    with pytest.raises(GuaranteeBroken, match="delta 2e-06"):
        replace(PLAN, stages=(PLAN.stages[1], Stage("more", "ladder", {}, Budget(0.1, 1e-6))))
    # Tenths of a budget add up to it but for rounding.
    replace(PLAN, stages=tuple(Stage(str(i), "ladder", {}, Budget(0.2, 1e-7)) for i in range(10)))


def test_senseless_plans_are_refused() -> None:
    for change in (
        {"classes": ("no",)},
        {"classes": ("no", "no")},
        {"n_teachers": -1},
        {"n_queries": 0},
        {"stages": ()},
        {"stages": (PLAN.stages[0], PLAN.stages[0])},
    ):
        with pytest.raises(InvalidParameter):
            replace(PLAN, **change)  # type: ignore[arg-type]
    for value in (float("inf"), float("nan"), [1], object()):
        with pytest.raises(InvalidParameter, match="parameter sigma"):
            Stage("labels", "ladder", {"sigma": value}, Budget(1, 0))  # type: ignore[dict-item]
    with pytest.raises(InvalidParameter, match="no stage 'student'; it has error, labels"):
        PLAN.stage("student")


def test_an_endless_budget_is_written_as_text() -> None:
    plan = replace(
        PLAN, budget=Budget(float("inf"), 0), stages=(Stage("labels", "majority", {}, Budget(float("inf"), 0)),)
    )
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "7",
        '{"schema": 1}',
        '{"schema": 1, "stages": 3}',
        "{'a': 1}",
        '{"schema": 1, "stages": [{}]}',
    ],
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(InvalidData, match="no plan that mapl wrote"):
        Plan.from_json(text)


def test_a_changed_plan_file_is_refused_in_words() -> None:
    content = json.loads(PLAN.to_json())
    with pytest.raises(InvalidData, match="schema 99; this mapl reads 1"):
        Plan.from_json(json.dumps({**content, "schema": 99}))
    with pytest.raises(InvalidParameter, match="epsilon is -2"):
        Plan.from_json(json.dumps({**content, "budget": {"epsilon": -2, "delta": 0}}))
    for change in ({"surplus": 1}, {"budget": {"epsilon": "much", "delta": 0}}, {"budget": None}):
        with pytest.raises(InvalidData, match="no plan"):
            Plan.from_json(json.dumps({**content, **change}))


def test_canonical_json_is_one_text_per_value() -> None:
    assert canonical({"b": 1, "a": (2, {"z": True, "y": None})}) == '{"a":[2,{"y":null,"z":true}],"b":1}'
    assert canonical({"b": np.int64(1), "a": [2.0]}) == canonical(dict(reversed([("a", [2.0]), ("b", 1)])))
    assert plain({"e": float("inf"), "n": float("nan")}) == {"e": "inf", "n": None}
    assert canonical("ü") == '"\\u00fc"'


def test_no_run_begins_with_a_delta_that_promises_nothing_and_an_old_plan_is_still_read() -> None:
    careless = replace(PLAN, budget=Budget(2, 0.5))
    assert Plan.from_json(careless.to_json()) == careless
    with pytest.raises(InvalidParameter, match="publishing one person in 2 would keep such a promise"):
        Terms(careless.budget, "add-remove", "patient_id")
    assert Terms(Budget(2, 0.01), "add-remove", "patient_id").budget.delta == 0.01
