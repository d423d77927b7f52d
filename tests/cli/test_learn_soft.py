"""``mapl learn --strategy soft``: released probabilities, a student that predicts them, a page about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.cli.options.labels import FOR_THE_OWNER
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.published import Publication
from mapl.release.ledger.chain import check_export
from mapl.students import load

Mapl = Callable[..., Any]


def soft(run: Path) -> Any:
    return pa.parquet.read_table(run / "public" / "soft_labels.parquet")


def test_a_whole_run(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    ran = mapl(*clinic.arguments("--student", "auto", "--strategy", "soft", "--test", clinic.test, "--json"))
    assert (ran.code, ran.stderr) == (0, FOR_THE_OWNER.format(file="run/private/check.json") + "\n")
    said, run = json.loads(ran.stdout), tmp_path / "run"
    assert (said["mechanism"], said["strategy"], said["answered"]) == ("noisy-mean", "soft", 150)
    assert said["private"] is True
    assert said["guaranteed_epsilon"] <= 20
    assert 0.7 < said["auc"] < 1
    assert said["log_loss"] < 0.65
    assert said["brier"] < 0.23
    table = soft(run)
    assert table.column_names == ["question", "probability", "deviation", "from"]
    assert set(table["from"].to_pylist()) == {"mean"}
    assert table.schema.metadata[b"mapl.private"] == b"true"
    labels = pa.parquet.read_table(run / "public" / "labels.parquet")["label"].to_pylist()
    assert labels == ["yes" if one >= 0.5 else "no" for one in table["probability"].to_pylist()]
    student = load(run / "public" / "student.skops")
    told = student.predict_proba(pa.parquet.read_table(clinic.test))
    assert ((told >= 0) & (told <= 1)).all()
    page = (run / "public" / "report.html").read_text()
    assert "Its probabilities" in page
    assert f"{said['auc']:.4f}" in page
    assert "The scores of 30 models decided them" in " ".join(page.split())
    assert "A student of private scores" in (run / "public" / "card.md").read_text()
    published = Publication.read(RunFolder(run))
    assert check_export(published.ledger) == said["ledger_head"]
    assert [(entry["stage"], entry["all_answered"]) for entry in published.ledger][-1] == ("means", 150)
    shown = mapl("report", "run", "--test", clinic.test)
    assert shown.code == 0
    predicted = mapl(
        "predict", "run/public/student.skops", clinic.test, "--probabilities", "--out", "predictions.csv"
    )
    assert predicted.code == 0, predicted.stderr
    header = Path("predictions.csv").read_text().splitlines()[0]
    assert header == "row,prediction,probability of no,probability of yes"
    both = mapl("predict", "run/public/student.skops", clinic.test, "--probabilities", "--json")
    chances = json.loads(both.stdout)["probabilities"]
    assert chances["yes"] == pytest.approx(told[:, 1].tolist())
    assert chances["no"] == pytest.approx(told[:, 0].tolist())


@pytest.mark.parametrize("strategy", ["soft-medians", "soft-both"])
def test_medians(mapl: Mapl, clinic: Any, tmp_path: Path, strategy: str) -> None:
    more = ("--student", "auto", "--strategy", strategy, "--max-abstentions", 40)
    ran = mapl(*clinic.arguments(*more, "--json", teachers=60))
    assert ran.code in (0, 3), ran.stderr
    said = json.loads(ran.stdout)
    stages = [stage["name"] for stage in said["stages"]]
    assert stages == (["medians"] if strategy == "soft-medians" else ["medians", "means"])
    assert said["guaranteed_epsilon"] <= 20
    table = soft(tmp_path / "run")
    told = np.array([np.nan if one is None else one for one in table["probability"].to_pylist()])
    assert np.isfinite(told).sum() == said["answered"]
    plan = json.loads((tmp_path / "run" / "public" / "plan.json").read_text())
    assert plan["stages"][0]["parameters"]["width"] <= 500
    assert sum(stage["budget"]["epsilon"] for stage in plan["stages"]) <= 20


def test_seeded_coins_are_not_private(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    ran = mapl(*clinic.arguments("--student", "auto", "--strategy", "soft", "--seed", 3, "--json"))
    assert json.loads(ran.stdout)["private"] is False
    assert soft(tmp_path / "run").schema.metadata[b"mapl.warning"] == b"NOT PRIVATE"


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--student", "ridge"), "does not learn from probabilities"),
        (("--student", "auto", "--learner", "text"), "tells no probabilities"),
        (("--student", "auto", "--mechanism", "link"), "The mechanism is 'link'"),
        (("--student", "auto", "--error-share", 0.1), "no place for an error estimate"),
        (("--student", "auto", "--classes", "no,yes,perhaps", "--strategy", "soft-both"), "take --strategy soft"),
        (("--student", "auto", "--method", "cells"), "Cells have no teachers"),
        (("--student", "auto", "--method", "select:teachers,cells"), "Soft labels come from teachers"),
    ],
)
def test_refused_before_anything_is_spent(
    mapl: Mapl, clinic: Any, tmp_path: Path, more: tuple[Any, ...], part: str
) -> None:
    ran = mapl(*clinic.arguments("--strategy", "soft", *more))
    assert ran.code == 2
    assert part in " ".join(ran.stderr.split())
    assert not (tmp_path / "run" / "private" / "ledger.sqlite").exists()


def test_three_classes(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    more = ("--student", "auto", "--strategy", "soft", "--classes", "no,yes,perhaps")
    ran = mapl(*clinic.arguments(*more, "--test", clinic.test, "--json"))
    assert ran.code == 0, ran.stderr
    said, run = json.loads(ran.stdout), tmp_path / "run"
    assert (said["mechanism"], said["answered"], said["halted"]) == ("noisy-shares", 150, False)
    assert said["guaranteed_epsilon"] <= 20
    table = soft(run)
    assert table.column_names == ["question", "probabilities", "deviation", "from"]
    told = np.array(table["probabilities"].to_pylist())
    assert np.allclose(told.sum(axis=1), 1)
    labels = pa.parquet.read_table(run / "public" / "labels.parquet")["label"].to_pylist()
    assert labels == [("no", "yes", "perhaps")[one] for one in told.argmax(axis=1)]
    assert load(run / "public" / "student.skops").predict_proba(pa.parquet.read_table(clinic.test)).shape[1] == 3
    assert [entry["all_answered"] for entry in Publication.read(RunFolder(run)).ledger][-1] == 450
    usage = json.loads((run / "public" / "statement.json").read_text())["usage"]
    assert (usage["answered"], usage["unit"]) == (450, "numbers, 3 for every row")
    assert "sums of the shares" in (run / "public" / "report.html").read_text()
