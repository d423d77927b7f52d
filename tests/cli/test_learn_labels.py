"""``mapl learn --label A --label B``: several labels within one budget, each with a student of its own."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from mapl.students import load

Mapl = Callable[..., Any]
LABELS = ("sport", "music")
COLUMNS = ("who", "a", "b", "c", *LABELS)


def rows(n: int, seed: int) -> Iterator[list[Any]]:
    world = np.random.default_rng(seed)
    for i, x in enumerate(world.normal(size=(n, 3)).round(3)):
        yield [i, *x.tolist(), *("yes" if one > 0 else "no" for one in x[:2])]


def write(path: Path, n: int, seed: int, *columns: str) -> None:
    kept = [COLUMNS.index(name) for name in columns]
    with path.open("w", newline="") as opened:
        table = csv.writer(opened)
        table.writerow(columns)
        table.writerows([row[j] for j in kept] for row in rows(n, seed))


@pytest.fixture
def asked(tmp_path: Path) -> list[Any]:
    write(tmp_path / "private.csv", 1200, 1, *COLUMNS)
    write(tmp_path / "public.csv", 80, 2, *COLUMNS[1:4])
    write(tmp_path / "test.csv", 200, 3, *COLUMNS[1:])
    return [
        *("learn", "private.csv", "--public", "public.csv", "--label", "sport", "--label", "music"),
        *("--classes", "no,yes", "--unit", "who", "--epsilon", 8, "--delta", 1e-6, "--teachers", 40),
        *("--student", "ridge", "--jobs", 1, "--out", "run"),
    ]


def said(name: str) -> Any:
    return json.loads(Path("run/public", name).read_text("utf-8"))


def test_one_budget_and_a_student_for_every_label(mapl: Mapl, asked: list[Any]) -> None:
    ran = mapl(*asked, "--test", "test.csv", "--json")
    assert ran.code == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["labels"] == [*LABELS]
    assert min(told["accuracy_by_label"].values()) > 0.8
    statement, plan = said("statement.json"), said("plan.json")
    assert [stage["name"] for stage in plan["stages"]] == [*LABELS]
    assert statement["guaranteed_epsilon"] <= 8
    assert [stage["name"] for stage in statement["stages"]] == ["all labels together"]
    assert statement["queries"] == 160
    chain = [json.loads(line) for line in Path("run/public/ledger.jsonl").read_text().splitlines()]
    assert {entry["stage"] for entry in chain if entry["stage"]} >= {*LABELS}
    labels = pyarrow.parquet.read_table("run/public/labels.parquet")
    assert labels["column"].to_pylist() == ["sport"] * 80 + ["music"] * 80
    for number, name in enumerate(LABELS, 1):
        assert load(Path(f"run/public/student-{number}.skops")).schema.label == name
        assert f"of the label {name}, one of 2" in Path(f"run/public/card-{number}.md").read_text()
    assert not Path("run/public/student.skops").exists()
    page = Path("run/public/report.html").read_text()
    assert "the student for <bdi>music</bdi>" in page
    words = " ".join(page.split())
    for counted in ("160 of 160 labels, 2 for every public row", "on 400 labels of public rows; always"):
        assert counted in words
    for rows in ("160 public rows", "400 public rows", "of 160 public", "400 test rows"):
        assert rows not in words
    assert json.loads(Path("run/private/check.json").read_text())["by_class"].keys() == {
        f"{label}: {name}" for label in LABELS for name in ("no", "yes")
    }


def test_predictions_of_all_labels(mapl: Mapl, asked: list[Any]) -> None:
    assert mapl(*asked).code == 0
    ran = mapl("predict", "run", "test.csv", "--key", "a", "--out", "said.csv")
    assert ran.code == 0, ran.stderr
    assert "accuracy of sport" in ran.stdout
    with Path("said.csv").open() as opened:
        lines = list(csv.DictReader(opened))
    assert list(lines[0]) == ["row", "a", "prediction of sport", "prediction of music"]
    for number, name in enumerate(LABELS, 1):
        alone = json.loads(mapl("predict", f"run/public/student-{number}.skops", "test.csv", "--json").stdout)
        assert alone["predictions"] == [line[f"prediction of {name}"] for line in lines]
        assert alone["accuracy"] > 0.8
    ran = mapl("export", "run", "--to", "json")
    assert ran.code == 2
    assert "student-2.skops" in ran.stderr
    again = mapl("report", "run", "--test", "test.csv", "--json")
    assert set(json.loads(again.stdout)["accuracy_by_label"]) == {*LABELS}


def test_a_row_counts_where_all_of_its_labels_are_known(mapl: Mapl, asked: list[Any]) -> None:
    lines = Path("private.csv").read_text().splitlines()
    lines[1] = lines[1].rpartition(",")[0] + ",maybe"
    lines[2] = lines[2].rpartition(",")[0] + ","
    Path("private.csv").write_text("\n".join(lines))
    ran = mapl("check", *asked[1:10], "--unit", "who", "--json")
    assert ran.code == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert (found["n_rows"], found["n_used"], found["n_of_other_class"], found["n_without_label"]) == (
        *(1200, 1198),
        *(1, 1),
    )


def test_a_killed_run_goes_on(mapl: Mapl, asked: list[Any]) -> None:
    assert mapl(*asked).code == 0
    before = {one.name: one.read_bytes() for one in Path("run/public").iterdir()}
    for lost in ("private/finished", "public/student-2.skops", "public/card-2.md", "public/report.html"):
        Path("run", lost).unlink()
    assert mapl(*asked[:5], *asked[7:]).code == 2  # one of the labels alone is another run
    assert mapl(*asked).code == 0
    assert {one.name: one.read_bytes() for one in Path("run/public").iterdir()} == before


def test_further_runs_ask_by_the_same_settings(mapl: Mapl, asked: list[Any]) -> None:
    assert mapl(*asked).code == 0
    assert said("settings.json")["options"]["label"] == [*LABELS]
    ran = mapl(
        *("learn", "run/public/settings.json", "private.csv", "--public", "public.csv", "--jobs", 1),
        *("--out", "again"),
    )
    assert ran.code == 0, ran.stderr
    assert Path("again/public/student-2.skops").exists()


def test_a_schema_may_name_several_labels(mapl: Mapl, asked: list[Any]) -> None:
    ran = mapl("schema", "test.csv", "--label", "sport", "--label", "music")
    assert ran.code == 0, ran.stderr
    assert json.loads(Path("schema.json").read_text())["further_labels"] == ["music"]
    assert mapl(*asked, "--schema", "schema.json").code == 0


def test_only_labels_are_private(mapl: Mapl, asked: list[Any]) -> None:
    asked[asked.index("--public") : asked.index("--public") + 2] = ["--label-private"]
    ran = mapl(*asked)
    assert ran.code == 0, ran.stderr
    assert "changed" in said("statement.json")["adjacency"] or "label" in said("statement.json")["adjacency"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--method", "cells", "--teachers", "auto"), "the method cells"),
        (("--error-share", 0.1), "an estimate of the teachers' error"),
        (("--metric", "balanced"), "a metric or a weight of classes"),
        (("--strategy", "active"), "an active student"),
        (("--strategy", "soft"), "the strategy soft"),
        (("--label", "sport"), "name each label once"),
        (("--label", "a"), "'a'"),
        (("--label", "danse"), "'danse'"),
    ],
)
def test_what_does_not_go_together(mapl: Mapl, asked: list[Any], more: tuple[Any, ...], words: str) -> None:
    ran = mapl(*asked, *more)
    assert ran.code == 2
    assert words in ran.stderr
    assert not Path("run/private/ledger.sqlite").exists()


def test_numbers_and_missing_public_rows(mapl: Mapl, asked: list[Any]) -> None:
    where = asked.index("--classes")
    ran = mapl(*asked[:where], "--regression", "0,1", *asked[where + 2 :])
    assert ran.code == 2
    assert mapl("schema", "public.csv").code == 0
    where = asked.index("--public")
    ran = mapl(*asked[:where], "--schema", "schema.json", *asked[where + 2 :])
    assert ran.code == 2
    assert "several labels" in ran.stderr
