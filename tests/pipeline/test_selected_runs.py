"""Whole runs that try several methods and publish the one that is chosen privately."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from killable import ended
from watched import Poll, rows_where

from mapl.data.cells.partition import Cells
from mapl.data.synthetic import LABEL, UNIT
from mapl.pipeline.choice.judges import PLACES, Judges
from mapl.pipeline.methods import selection
from mapl.pipeline.methods.method import Results
from mapl.pipeline.methods.teachers import TeachersMethod
from mapl.pipeline.runs import run
from mapl.planning.plan import Plan
from mapl.release.best_of import BestOf
from mapl.release.ledger.chain import check_export
from mapl.release.ledger.part import LedgerPart
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.students.student import Student

Mapl = Callable[..., Any]

SELECT = ("--method", "select:teachers,cells", "--rows", 600)


def public_half(folder: str = "run") -> dict[str, Any]:
    public = Path(folder) / "public"
    return {
        "plan": Plan.from_json((public / "plan.json").read_text()),
        "statement": json.loads((public / "statement.json").read_text()),
        "ledger": [json.loads(line) for line in (public / "ledger.jsonl").read_text().splitlines()],
        "settings": json.loads((public / "settings.json").read_text()),
    }


def check_whole(folder: str = "run") -> dict[str, Any]:
    """Check that what was published belongs together and stays within the budget; return it."""
    found = public_half(folder)
    said, plan = found["statement"], found["plan"]
    assert said["guaranteed_epsilon"] <= said["budget_epsilon"] == 20
    assert said["delta"] <= 1e-5
    assert said["plan_digest"] == plan.digest
    assert said["ledger_head"] == check_export(found["ledger"])
    won = plan.stage("selection").parameters["candidates"], said["selected"]
    names = [stage["name"] for stage in said["stages"]]
    assert names == [
        stage.name for stage in plan.stages if stage.only_if is None or stage.name.startswith(f"{won[1]}: ")
    ]
    assert len({stage.only_if for stage in plan.stages}) == won[0] + 1  # one for each, and none for what is tried
    assert 19 < sum(stage["epsilon"] for stage in said["stages"]) <= said["guaranteed_epsilon"]
    assert {stage["units"] for stage in said["stages"]} == {"all"}
    starts = [entry["stage"] for entry in found["ledger"] if entry["kind"] == "start"]
    assert starts == names  # each of them once
    assert (Path(folder) / "public" / "cells.parquet").exists() == (said["cells"] is not None)
    assert (said["cells"] is not None) == said["selected"].startswith("cells")
    assert found["settings"]["method"] == said["selected"]
    return found


def test_a_run_that_chooses(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments(*SELECT, "--test", clinic.test, "--json"))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    found = check_whole()
    assert [stage.name for stage in found["plan"].stages] == [
        "pilot teachers: labels",
        "pilot cells: counts",
        "selection",
        "teachers: labels",
        "cells: counts",
    ]
    shares = [stage.budget.epsilon for stage in found["plan"].stages]
    assert shares == pytest.approx([2.0, 2.0, 0.6, 15.4, 15.4])
    assert said["accuracy"] > 0.6
    assert "one of 2 methods (teachers, cells)" in said["in_plain_words"]
    assert "The epsilon of this statement covers all three" in said["in_plain_words"]
    assert any("the choice and the chosen method were added up" in words for words in said["checked"])
    assert f"chosen: {said['selected']}" in said["why"]
    page = Path("run/public/report.html").read_text("utf-8")
    assert "The promise covers what was tried, the choice and the chosen method together" in page
    assert "--epsilon 15.4 " in page  # the audit of what was chosen, not of its trial
    assert said["epsilon"] <= said["guaranteed_epsilon"] == pytest.approx(20)
    assert mapl("report", "run").code == 0


def test_variants_two_rounds_and_an_estimate(mapl: Mapl, clinic: Any) -> None:
    more = ("--method", "select:teachers,teachers/logistic,cells/leaves", "--rounds", 2, "--error-share", 0.2)
    ran = mapl(*clinic.arguments(*more, "--rows", 600))
    assert ran.code == 0, ran.stderr
    names = [stage.name for stage in check_whole()["plan"].stages]
    each = ["teachers: error", "teachers: labels", "teachers/logistic: error", "teachers/logistic: labels"]
    each += ["cells/leaves: counts", "cells/leaves: counts again"]
    assert names == [*(f"pilot {name}" for name in each), "selection", *each]


@pytest.mark.parametrize("more", [("--adjacency", "replace-one"), ("--label-private",)], ids=lambda more: more[-1])
def test_other_neighbours(mapl: Mapl, clinic: Any, more: tuple[str, ...]) -> None:
    arguments = clinic.arguments("--method", "select:cells,teachers", *more)
    if "--label-private" in more:
        arguments[2:4] = []  # there are no public rows
    ran = mapl(*arguments)
    assert ran.code == 0, ran.stderr
    assert check_whole()["plan"].stage("selection").parameters["sensitivity"] == 2


def test_a_learner_without_a_place_is_refused(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--method", "select:teachers/hgb,cells", "--learner", "ridge"))
    assert ran.code == 2
    assert "put teachers on the list" in ran.stderr
    assert not Path("run").exists()


class Crash(Exception):
    """Stands for a process that ends in the middle."""


def crashed(mapl: Mapl, arguments: list[Any]) -> list[tuple[str, str]]:
    """Run a command that is going to crash, and return what its ledger had recorded by then."""
    assert mapl(*arguments).code not in (0, 2)
    assert not list(Path("run/public").iterdir())
    with SqliteLedger(Path("run/private/ledger.sqlite")) as ledger:
        return [(entry.stage, entry.hash) for entry in ledger.entries()]


@pytest.mark.parametrize("moment", ["before the choice", "before its record", "before the winner", "after it"])
def test_a_run_that_is_killed_goes_on_and_spends_once(
    mapl: Mapl, clinic: Any, monkeypatch: pytest.MonkeyPatch, polls: list[Poll], moment: str
) -> None:
    def crash(*given: Any, **named: Any) -> Any:
        raise Crash

    arguments = clinic.arguments(*SELECT)
    with monkeypatch.context() as patch:
        if moment == "before the choice":
            patch.setattr(selection, "select", crash)
        elif moment == "before its record":
            patch.setattr(BestOf, "release", crash)
        elif moment == "before the winner":
            real = LedgerPart.open
            patch.setattr(
                LedgerPart, "open", lambda self, *given: (real if "'pilot " in repr(self) else crash)(self, *given)
            )
        else:
            patch.setattr(run, "publish_labels", crash)
        recorded = crashed(mapl, arguments)
    n_polls = len(polls)
    if moment in ("before the winner", "after it"):
        monkeypatch.setattr(Judges, "right", crash)  # nobody is asked again
    ran = mapl(*arguments)
    assert ran.code == 0, ran.stderr
    ledger = check_whole()["ledger"]
    assert [(entry["stage"], entry["hash"]) for entry in ledger][: len(recorded)] == recorded
    assert len(ledger) == 9
    again = polls[n_polls:] if moment == "after it" else polls[n_polls : n_polls + 1]
    assert again
    assert not any(poll.votes for poll in again)  # no teacher was trained again


def test_killed_again_and_again(clinic: Any, tmp_path: Path) -> None:
    """Killed in earnest after every new entry of the ledger, and while files are published."""
    private, public = tmp_path / "run" / "private", tmp_path / "run" / "public"

    def entries() -> list[str]:
        if not (private / "ledger.sqlite").exists():
            return []
        with SqliteLedger(private / "ledger.sqlite") as ledger:
            ledger.verify()
            return [entry.hash for entry in ledger.entries()]

    seen: list[str] = []
    for moment in (3, 6, 8, public / "statement.json"):
        assert ended(clinic.arguments(*SELECT), tmp_path, dies=moment) == -9
        now = entries()
        assert now[: len(seen)] == seen  # what was recorded stays, and is never recorded again
        seen = now
        if isinstance(moment, int):
            assert len(seen) == moment
    assert ended(clinic.arguments(*SELECT), tmp_path) == 0
    assert len(seen) == 9
    assert entries() == seen
    check_whole(str(tmp_path / "run"))


def test_somebody_counts_once_wherever_methods_are_carried_out(
    mapl: Mapl, clinic: Any, polls: list[Poll], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a person one vote of what is tried may change, one count of it, and one of what the winner counts."""
    counted: list[Any] = []
    real = Cells.counts

    def counts(cells: Cells, *given: Any, **named: Any) -> Any:
        counted.append(real(cells, *given, **named))
        return counted[-1]

    monkeypatch.setattr(Cells, "counts", counts)
    monkeypatch.setattr(BestOf, "release", lambda *given: 1)  # cells, whatever the scores are
    table = pa.parquet.read_table(clinic.private)
    people = np.array(table[UNIT].to_pylist())
    for number, without in enumerate([None, min(people)]):
        path = Path(f"private-{number}.parquet")
        pa.parquet.write_table(rows_where(table, people != without), path)
        assert mapl(*clinic.arguments(*SELECT, "--out", f"run-{number}", private=path)).code == 0
    assert len(polls[0].changed_shards(polls[1])) == 1
    assert [int(np.abs(counted[2 + step] - counted[step]).sum()) for step in (0, 1)] == [1, 1]


def test_a_method_without_labels_is_never_right(mapl: Mapl, clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Teachers that released nothing have no student; the run goes on with cells, or says that there is none."""
    real = TeachersMethod.release

    def silent(self: TeachersMethod, *given: Any) -> Results:
        return replace(real(self, *given), lesson=None)

    monkeypatch.setattr(TeachersMethod, "release", silent)
    ran = mapl(*clinic.arguments(*SELECT))
    assert ran.code == 0, ran.stderr
    assert check_whole()["statement"]["selected"] == "cells"  # dozens of units ahead at epsilon 20


def test_labels_of_the_clinic_are_not_quoted(mapl: Mapl, clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student that fails on private rows, and quotes them, is wrong about these and says nothing."""
    real = Student.predict_codes

    def quoting(self: Student, rows: Any) -> Any:
        if isinstance(rows, pa.Table) and rows.num_rows == PLACES:
            raise ValueError(f"I cannot read {rows.to_pylist()[0]}")
        return real(self, rows)

    monkeypatch.setattr(Student, "predict_codes", quoting)
    ran = mapl(*clinic.arguments(*SELECT))
    assert ran.code == 0, ran.stderr
    assert "cannot read" not in ran.stdout + ran.stderr
    assert LABEL in public_half()["settings"].values()
