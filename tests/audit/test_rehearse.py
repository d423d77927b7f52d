"""Finished set-ups, rehearsed and attacked: honest ones hold, controls are caught, broken ones are found.

Coins and choices are seeded. With fresh ones an honest set-up is called broken with chance 1e-5 at most, and the
controls, which have no noise, are always caught.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from mapl.audit.runs import teachers_scene
from mapl.audit.runs.cells_scene import StillCoins
from mapl.audit.runs.rehearse import AttackResult, Rehearsed, rehearse
from mapl.audit.runs.set_up import SetUp
from mapl.audit.runs.teachers_scene import Brink
from mapl.data.synthetic import LABEL, UNIT
from mapl.data.tables.column import Column
from mapl.data.tables.made_up_rows import made_up_rows
from mapl.data.tables.rows import n_rows
from mapl.data.tables.schema import Schema
from mapl.errors import GuaranteeBroken, InvalidParameter, PlanMismatch
from mapl.mechanisms import REGISTRY, Task, make
from mapl.noise import SeededCoins
from mapl.pipeline.counts.cells_plan import PlannedCells
from mapl.planning import Agreement, choose
from mapl.planning.plan import Plan, Stage
from mapl.release.cell_counts import CellCounts
from mapl.types import Budget

Mapl = Callable[..., Any]


def attacked(run: Path, **settings: Any) -> Rehearsed:
    return rehearse(run, seed=3, coins=SeededCoins(11), **settings)


@pytest.fixture
def finished(mapl: Mapl, clinic: Any, tmp_path: Path) -> Callable[..., Path]:
    """Finish a run, and take its private half away: an audit has no business there."""

    def finish(*more: Any) -> Path:
        ran = mapl(*clinic.arguments("--epsilon", 2, *more))
        assert ran.code in (0, 3), ran.stderr  # a ladder may halt early
        shutil.rmtree(tmp_path / "run" / "private")
        return tmp_path / "run"

    return finish


def check_sound(found: Rehearsed, sees: set[str]) -> None:
    assert not found.broken
    assert not found.says_nothing
    assert {one.sees for one in found.attacks} == sees
    for one in found.attacks:
        assert one.epsilon_at_least <= one.most_provable
        if one.control:
            assert one.result is AttackResult.caught
            assert one.right == one.guesses
            assert one.epsilon_at_least > found.claim.epsilon
        else:
            assert one.result is AttackResult.holds
            assert one.right < one.guesses


def test_teachers_hold_and_their_control_is_caught(finished: Callable[..., Path], clinic: Any) -> None:
    found = attacked(finished(), rows=clinic.test)
    check_sound(found, {"released labels", "student's predictions"})
    assert (found.way, found.mechanism, found.student) == ("teachers", "link", "ridge")
    assert found.claim == Budget(2.0, 1e-5)
    assert UNIT in found.promise.unit
    assert json.loads(json.dumps(found.to_dict()))["attacks"][0]["result"] == "holds"


def test_a_ladder_is_attacked_where_it_tells_most(finished: Callable[..., Path]) -> None:
    run = finished("--mechanism", "ladder", "--max-abstentions", 2, "--teachers", 60, "--epsilon", 3)
    check_sound(attacked(run, trials=300), {"released labels", "student's predictions"})


def test_labels_alone_may_be_private(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    ran = mapl(
        *("learn", clinic.private, "--label-private", "--label", LABEL, "--classes", "no,yes", "--epsilon", 1),
        *("--delta", 1e-5, "--teachers", 20, "--queries", 60, "--student", "ridge", "--jobs", 1, "--unit", "none"),
        *("--out", "run"),
    )
    assert ran.code == 0, ran.stderr
    found = attacked(tmp_path / "run")
    check_sound(found, {"released labels", "student's predictions"})
    assert "label" in found.promise.adjacency


@pytest.mark.parametrize("more", [("--epsilon", 1), ("--adjacency", "replace-one", "--rounds", 2)])
def test_cells_hold_and_their_control_is_caught(finished: Callable[..., Path], more: tuple[Any, ...]) -> None:
    run = finished("--teachers", "auto", "--method", "cells", *more)
    check_sound(attacked(run), {"noisy counts", "released labels", "student's predictions"})


def test_a_server_holds_and_its_control_is_caught(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    ran = mapl(
        *("teach", clinic.private, "--public", clinic.public, "--label", LABEL, "--classes", "no,yes"),
        *("--unit", UNIT, "--epsilon", 2, "--delta", 1e-5, "--queries", 100, "--teachers", 30, "--jobs", 1),
        *("--out", "run"),
    )
    assert ran.code == 0, ran.stderr
    shutil.rmtree(tmp_path / "run" / "private")
    found = attacked(tmp_path / "run" / "public")  # a copy of the public half will do
    check_sound(found, {"server's answers"})
    assert found.student is None


def test_a_mechanism_without_noise_is_found_broken(
    finished: Callable[..., Path], mapl: Mapl, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished()
    monkeypatch.setattr(SetUp, "mechanism", lambda self: make("majority", self.task))
    found = attacked(run)
    assert found.broken
    assert [one.result for one in found.attacks if not one.control] == [AttackResult.broken] * 3


def test_counts_with_too_little_noise_are_found_broken(
    finished: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished("--teachers", "auto", "--method", "cells", "--epsilon", 1)

    def quarter(planned: PlannedCells, stage: str, n_cells: int) -> CellCounts:
        return CellCounts(4 * planned.plan.stage(stage).budget.epsilon, n_cells, 2)

    monkeypatch.setattr(PlannedCells, "mechanism", quarter)
    found = attacked(run)
    assert found.broken
    canaries = found.attacks[0]
    assert (canaries.attack, canaries.result) == ("canaries", AttackResult.broken)
    assert 1 < canaries.epsilon_at_least < 4


def test_teachers_that_notice_other_shards_are_found(
    finished: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, real = finished(), teachers_scene.poll

    def nosy(learner: Any, sharded: Any, questions: Any, **named: Any) -> Any:
        ballot = real(learner, sharded, questions, **named)
        moved = len(sharded.labels) % ballot.n_teachers
        ballot._counts[0] = (ballot.n_teachers - moved, moved)
        return ballot

    monkeypatch.setattr(teachers_scene, "poll", nosy)
    with pytest.raises(GuaranteeBroken, match="changed the votes of other teachers"):
        attacked(run, trials=5, canaries=5)


@pytest.mark.parametrize(
    "name", [name for name, one in REGISTRY.items() if one.classes is None or 2 in one.classes]
)
def test_every_mechanism_is_calibrated_as_the_run_has_it(name: str) -> None:
    budget = Budget(2.0, 1e-5)
    task = Task(budget, 90, 2, 40)
    chosen = choose(name, task, agreement=Agreement.default(), must_answer=False, settings={}).mechanism
    stage = Stage("labels", name, dict(chosen.parameters), budget)
    plan = Plan(("no", "yes"), 90, "add-remove", "record", 40, budget, (stage,), "as asked")
    made = SetUp(plan, Schema((Column("age", "number"),)), {}, None).mechanism()
    assert made.name == name
    assert made.epsilon(None, 1e-5) == pytest.approx(chosen.epsilon(None, 1e-5), rel=1e-6)


def test_an_edited_plan_is_refused(finished: Callable[..., Path]) -> None:
    run = finished()
    ledger, plan = run / "public" / "ledger.jsonl", run / "public" / "plan.json"
    ledger.unlink()
    plan.write_text(plan.read_text().replace('"offsets": ', '"offsets": 1'))
    with pytest.raises(PlanMismatch, match="the plan was edited"):
        attacked(run)


OTHER_WAYS = {
    "soft": ("--strategy", "soft", "--student", "auto"),
    "active": ("--strategy", "active", "--queries", 40),
    "selection": ("--teachers", "auto", "--rows", 400, "--method", "select:teachers/ridge,cells/points"),
    "selection that takes cells": (
        "--teachers",
        "auto",
        "--rows",
        400,
        "--method",
        "select:cells/points,cells/leaves",
    ),
}


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_other_ways_are_refused(finished: Callable[..., Path], way: str) -> None:
    run = finished(*OTHER_WAYS[way])
    with pytest.raises(InvalidParameter, match=r"this one has the stages .*Audit what released them by name"):
        attacked(run)


def test_single_answers_are_refused(mapl: Mapl, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=60)
    pa.csv.write_csv(pa.table({"a": rows, "y": np.where(rows > 0, "yes", "no")}), tmp_path / "private.csv")
    pa.csv.write_csv(pa.table({"a": rows[:5]}), tmp_path / "asked.csv")
    options = ("--label", "y", "--classes", "no,yes", "--questions", "asked.csv", "--epsilon", 5, "--out", "run")
    ran = mapl("answer", "private.csv", *options)
    assert ran.code == 0, ran.stderr
    with pytest.raises(InvalidParameter, match=r"answered single questions .* --mechanism padded-stumps"):
        attacked(tmp_path / "run")


def test_the_brink_is_where_one_vote_tells_most() -> None:
    task = Task(Budget(2.0, 1e-5), 80, 2, 40)
    plurality = Brink.of(make("majority", task), 80, 2)
    assert (plurality.loud, plurality.telling.tolist()) == (40, [False, True, False])
    ladder = Brink.of(make("ladder", task, max_abstentions=2), 80, 2)
    assert abs(ladder.loud - 40) > 3  # near the tie a ladder abstains whoever is there
    assert ladder.telling.sum() == 1


def test_still_coins_add_no_noise() -> None:
    counts = np.arange(12).reshape(6, 2)
    assert (CellCounts(0.1, 6, 2).release(counts, StillCoins()) == counts).all()
    assert not StillCoins.private


def test_rows_of_every_kind_can_be_made_up() -> None:
    kinds = (
        Column("age", "number", centre=50.0, spread=9.0, cuts=(40.0, 60.0)),
        Column("smokes", "number"),
        Column("region", "category", ("north", "south")),
        Column("note", "text"),
        Column("seen", "date", centre=19_000.0, spread=100.0, cuts=(18_950.0, 19_050.0)),
        Column("scan", "image", width=9),
    )
    schema = Schema(kinds, label="ill", classes=("no", "yes"))
    rows = made_up_rows(schema, 40, np.random.default_rng(0))
    assert n_rows(rows) == 40
    assert rows.column_names == list(schema.names)
    assert rows.to_pylist()[0] != rows.to_pylist()[1]
