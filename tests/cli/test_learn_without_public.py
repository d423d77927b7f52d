"""Learning where nothing is public but what is declared about the columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl import PrivateClassifier
from mapl.data.synthetic import LABEL, UNIT
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter

Mapl = Callable[..., Any]

COLUMNS = [
    {"name": "age", "kind": "number", "range": [18, 95]},
    {"name": "bmi", "kind": "number", "range": [15, 55]},
    {"name": "glucose", "kind": "number", "range": [50, 160]},
    {"name": "pressure", "kind": "number", "range": [70, 190]},
    {"name": "smoking", "kind": "category", "categories": ["never", "former", "current"]},
    {"name": "region", "kind": "category", "categories": ["north", "east", "south", "west"]},
    {"name": "active", "kind": "category", "categories": ["no", "yes"]},
]


def declared(*more: dict[str, Any]) -> str:
    return json.dumps({"mapl_schema": 1, "label": LABEL, "classes": ["no", "yes"], "columns": [*COLUMNS, *more]})


@pytest.fixture
def schema() -> Path:
    Path("schema.json").write_text(declared())
    return Path("schema.json")


def command(clinic: Any, schema: Path, *more: Any) -> tuple[Any, ...]:
    budget = ("--epsilon", 20, "--delta", 1e-5)
    return (
        "learn",
        clinic.private,
        "--schema",
        schema,
        "--label",
        LABEL,
        "--unit",
        UNIT,
        *budget,
        "--out",
        "run",
        *more,
    )


def test_a_schema_is_enough(mapl: Mapl, clinic: Any, schema: Path) -> None:
    ran = mapl(*command(clinic, schema, "--test", clinic.test, "--json"))
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["mechanism"] == "moment-sums"
    assert "moments, because they do without public rows; no public rows, so that the map follows" in said["why"]
    assert said["accuracy"] > said["majority_accuracy"]
    plan = json.loads(Path("run/public/plan.json").read_text())
    features = plan["stages"][0]["parameters"]["features"]
    entries = [int(one) for one in plan["stages"][0]["parameters"]["entries of rounds"].split(", ")]
    assert entries == [features * (features + 2) + 1, *[features * 2 + 1] * 6]
    assert mapl("report", "run").code == 0
    assert mapl("predict", "run/public/student.skops", clinic.test).code == 0


def test_python_does_the_same(mapl: Mapl, clinic: Any, schema: Path) -> None:
    ran = mapl(*command(clinic, schema, "--seed", 3))
    assert ran.code == 0
    assert "labels all 3000 made-up rows" in " ".join(ran.stdout.replace("│", " ").split())
    table = pa.parquet.read_table(clinic.private)
    face = PrivateClassifier(
        epsilon=20.0, delta=1e-5, classes=("no", "yes"), schema=Schema.read(schema), seed=3, n_jobs=1
    )
    names = [column["name"] for column in COLUMNS]
    face.fit(table.select(names), table[LABEL], groups=table[UNIT])
    ours, theirs = json.loads(face.plan_.to_json()), json.loads(Path("run/public/plan.json").read_text())
    assert {**ours, "unit": UNIT} == theirs
    labels = pa.parquet.read_table("run/public/labels.parquet")["label"].to_pylist()
    assert labels == [face.classes_[code] for code in face.released_]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--method", "teachers"), "There are no public rows, and teachers needs some"),
        (("--method", "cells"), "There are no public rows, and cells needs some"),
        (("--method", "select:moments,cells"), "There are no public rows"),
        (("--learner", "ridge"), "There are no public rows, and a learner needs some"),
        (("--drop", "region"), 'change the schema instead, which may list columns to leave out: "dropped"'),
    ],
)
def test_what_needs_public_rows_is_refused(
    mapl: Mapl, clinic: Any, schema: Path, more: tuple[Any, ...], words: str
) -> None:
    ran = mapl(*command(clinic, schema, *more))
    assert ran.code == 2
    assert words in " ".join(ran.stderr.split())
    assert not Path("run/private/ledger.sqlite").exists()


def test_texts_and_senseless_ranges_are_refused(mapl: Mapl, clinic: Any, schema: Path) -> None:
    cases = {
        "holds text, and there are no public rows": {"name": "note", "kind": "text"},
        "does not say where column 'scan' lies": {"name": "scan", "kind": "image", "width": 9},
        "give the lower end first": {"name": "odd", "kind": "number", "range": [3, 3]},
        "give two numbers": {"name": "odd", "kind": "number", "range": [3]},
    }
    for words, column in cases.items():
        Path("other.json").write_text(declared(column))
        ran = mapl(*command(clinic, Path("other.json")))
        assert ran.code == 2
        assert words in " ".join(ran.stderr.split())
        assert not Path("run/private/ledger.sqlite").exists()


def test_images_of_which_nothing_is_declared_are_refused_in_python(tmp_path: Path) -> None:
    column = {"name": "scan", "kind": "image", "width": 9}
    schema = Schema.from_json(json.dumps({"mapl_schema": 1, "classes": ["no", "yes"], "columns": [column]}))
    ledger = tmp_path / "ledger.sqlite"
    face = PrivateClassifier(epsilon=1.0, delta=1e-5, classes=("no", "yes"), schema=schema, ledger=ledger)
    scans = pa.table({"scan": [[float(9 * i + j) for j in range(9)] for i in range(4)]})
    with pytest.raises(InvalidParameter, match="does not say where column 'scan' lies"):
        face.fit(scans, ["no", "yes", "no", "yes"])
    assert not ledger.exists()


def test_nothing_public_at_all(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(
        "learn",
        clinic.private,
        "--label",
        LABEL,
        "--classes",
        "no,yes",
        "--epsilon",
        1,
        "--delta",
        1e-5,
        "--out",
        "run",
    )
    assert ran.code == 2
    for part in ("Nothing public is known about the rows", "--public", "--schema", "--label-private"):
        assert part in " ".join(ran.stderr.split())


def test_all_texts_speak_of_products_and_of_no_words(mapl: Mapl, clinic: Any, schema: Path) -> None:
    ran = mapl(*command(clinic, schema))
    assert ran.code == 0, ran.stderr
    assert mapl("report", "run").code == 0
    card, page = (Path("run/public", name).read_text() for name in ("card.md", "report.html"))
    assert "the linear model labels all 3000 made-up rows" in " ".join(ran.stdout.replace("│", " ").split())
    assert "with its labels for 3,000 made-up rows" in page
    assert "for each of the 3,000 made-up rows" in page
    assert "Public rows tell how columns go together" not in page
    for text in (ran.stdout, card, page):
        assert "hashed" not in text
        assert "products of" in " ".join(text.replace("│", " ").split())


def test_a_matrix_and_a_schema(clinic: Any) -> None:
    table = pa.parquet.read_table(clinic.private)
    numbers = [column for column in COLUMNS if column["kind"] == "number"]
    X = np.column_stack([table[column["name"]].to_numpy() for column in numbers])
    columns = [{**column, "name": f"x{j}"} for j, column in enumerate(numbers)]
    known = Schema.from_json(json.dumps({"mapl_schema": 1, "classes": ["no", "yes"], "columns": columns}))
    face = PrivateClassifier(epsilon=20.0, delta=1e-5, classes=("no", "yes"), schema=known, seed=3)
    y = np.array(table[LABEL].to_pylist())
    face.fit(X, y, groups=table[UNIT])
    assert face.score(X, y) > max((y == "no").mean(), (y == "yes").mean())


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"name": "odd", "kind": "number"}, "does not say where column 'odd' lies"),
        ({"name": "odd", "kind": "category", "categories": ["a"], "range": [0, 1]}, "that is for numbers"),
        ({"name": "odd", "kind": "number", "range": [0, 1], "centre": 3}, "stands in place of centre"),
    ],
)
def test_columns_that_are_declared_by_half(mapl: Mapl, clinic: Any, column: dict[str, Any], words: str) -> None:
    Path("other.json").write_text(declared(column))
    ran = mapl(*command(clinic, Path("other.json")))
    assert (ran.code, ran.stdout) == (2, "")
    assert words in " ".join(ran.stderr.split())


@pytest.mark.parametrize("role", ["--public", "--test"])
def test_the_private_table_is_not_public(mapl: Mapl, clinic: Any, schema: Path, role: str) -> None:
    ran = mapl(*command(clinic, schema, role, clinic.private))
    assert ran.code == 2
    assert f"{role} names the private table itself" in " ".join(ran.stderr.split())
