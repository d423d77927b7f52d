"""What a run will do and cost is fixed by declared and public facts; private rows have no say in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.data.synthetic import UNIT
from mapl.data.tables.rows import take
from mapl.errors import MaplError
from mapl.pipeline.runs import run
from mapl.planning.plan import Plan

Mapl = Callable[..., Any]
PlanOf = Callable[..., tuple[Plan, str]]


class EnoughSeen(MaplError):
    """The plan is made and the private table read; nobody has to train teachers for this test."""


@pytest.fixture
def plan_of(mapl: Mapl, clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanOf:
    """Start ``mapl learn`` on a private table; return the plan and the schema it arrives at."""
    made: list[Any] = []
    real_declared = run.declare

    def declared(*given: Any, **named: Any) -> Any:
        made.append(real_declared(*given, **named))
        return made[-1]

    def opened(place: Any, prepared: Any, case: Any, table: Any) -> Any:
        made.append(prepared.plan)
        raise EnoughSeen

    def start(private: pa.Table, *more: Any) -> tuple[Plan, str]:
        pa.parquet.write_table(private, "p.parquet")
        made.clear()
        assert mapl(*clinic.arguments(*more, private=Path("p.parquet"), teachers="auto")).code == 2
        said, plan = made
        return plan, said.schema.to_json()

    monkeypatch.setattr(run, "declare", declared)
    monkeypatch.setattr(run.FolderPlace, "opened", opened)
    return start


@pytest.mark.parametrize(
    "more",
    [
        ("--method", "teachers", "--rows", 600),
        ("--rows", 600, "--error-share", 0.2),
        ("--method", "teachers"),
        (),
        ("--rows", 600, "--rounds", 2, "--per-unit", "latest:age"),
    ],
    ids=["teachers", "error", "teachers of unknown numbers", "cells", "two rounds"],
)
def test_the_plan_is_the_same_for_other_private_tables(plan_of: PlanOf, clinic: Any, more: tuple[Any, ...]) -> None:
    table = pa.parquet.read_table(clinic.private)
    person = table[UNIT][0].as_py()
    neighbour = take(table, np.flatnonzero([one != person for one in table[UNIT].to_pylist()]))
    first = plan_of(table, *more)
    assert plan_of(neighbour, *more) == first
    assert plan_of(table.slice(0, 300), *more) == first


def test_the_declared_number_of_people_counts(plan_of: PlanOf, clinic: Any) -> None:
    table = pa.parquet.read_table(clinic.private)
    (few, _), (many, _) = (plan_of(table, "--method", "teachers", "--rows", n) for n in (200, 2000))
    assert few.n_teachers < many.n_teachers
    assert "2000 declared units" in many.why
    (few, _), (many, _) = (plan_of(table, "--method", "cells", "--epsilon", 1, "--rows", n) for n in (240, 2000))
    assert few.stage("counts").parameters["cells"] == 61  # one in four units, and one for those far away
    assert many.stage("counts").parameters["cells"] == 151
    assert "2000 declared units" in many.why


def test_columns_and_scales_are_those_of_public_rows(plan_of: PlanOf, clinic: Any) -> None:
    """Private rows with other values and other categories leave no trace in the schema."""
    table = pa.parquet.read_table(clinic.private)
    shifted = table.set_column(1, "age", pa.array(table["age"].to_numpy() * 3))
    abroad = shifted.set_column(6, "region", pa.array(["abroad"] * table.num_rows))
    assert plan_of(abroad) == plan_of(table)


def test_who_is_in_the_table_may_be_counted_where_that_is_public(plan_of: PlanOf, clinic: Any) -> None:
    table = pa.parquet.read_table(clinic.private)
    both = table, table.slice(0, 300)
    (whole, _), (half, _) = (plan_of(one, "--adjacency", "replace-one", "--method", "teachers") for one in both)
    assert half.n_teachers < whole.n_teachers
    (whole, _), (half, _) = (
        plan_of(one, "--adjacency", "replace-one", "--method", "cells", "--epsilon", 1) for one in both
    )
    assert half.stage("counts").parameters["cells"] < whole.stage("counts").parameters["cells"]
