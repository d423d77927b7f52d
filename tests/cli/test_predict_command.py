"""``mapl predict``: a published student predicts on any file that has its columns, and tells its accuracy."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from mapl.cli import app
from mapl.data.synthetic import CLASSES, LABEL, UNIT

Mapl = Callable[..., Any]


@pytest.fixture(scope="module")
def student(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learn once; every test only reads the student."""
    run = tmp_path_factory.mktemp("learned") / "run"
    ran = CliRunner().invoke(app, [str(one) for one in clinic.arguments("--out", run)])
    assert ran.exit_code == 0, ran.stderr
    return run / "public" / "student.skops"


def test_predictions_go_to_standard_output(mapl: Mapl, clinic: Any, student: Path) -> None:
    ran = mapl("predict", student, clinic.public)
    assert ran.code == 0
    header, *lines = ran.stdout.splitlines()
    assert header == "row,prediction"
    rows, predicted = zip(*(line.split(",") for line in lines), strict=True)
    assert rows == tuple(map(str, range(150)))
    assert set(predicted) <= set(CLASSES)
    assert ran.stderr.strip() == "150 rows"


def test_a_student_of_scores_alone_has_probabilities_too(mapl: Mapl, clinic: Any, student: Path) -> None:
    ran = mapl("predict", student, clinic.test, "--probabilities")
    assert ran.code == 0
    header, *lines = ran.stdout.splitlines()
    assert header == "row,prediction,probability of no,probability of yes"
    for line in lines:
        _, predicted, no, yes = line.split(",")
        assert float(no) + float(yes) == pytest.approx(1)
        assert predicted == ("yes" if float(yes) > float(no) else "no")


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_predictions_go_to_a_file(mapl: Mapl, clinic: Any, student: Path, name: str) -> None:
    ran = mapl("predict", student, clinic.test, "--out", name)
    assert ran.code == 0
    assert "accuracy" in ran.stdout
    read = pa.csv.read_csv if name.endswith("csv") else pa.parquet.read_table
    assert read(name).column_names == ["row", "prediction"]
    assert read(name)["row"].to_pylist() == list(range(300))
    predicted, truth = read(name)["prediction"].to_pylist(), pa.parquet.read_table(clinic.test)[LABEL].to_pylist()
    right = sum(a == b for a, b in zip(predicted, truth, strict=True)) / 300
    assert f"accuracy {right:.2%}" in ran.stdout
    said = json.loads(mapl("predict", student, clinic.test, "--json").stdout)
    assert said["accuracy"] == pytest.approx(right)
    assert (said["rows"], said["out"], said["predictions"]) == (300, None, predicted)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_key_is_carried_over_as_it_is_written(mapl: Mapl, clinic: Any, student: Path, kind: str) -> None:
    ids = [f"{i:03d}" if i % 2 else f'a "{i}", b' for i in range(150)]
    table = pa.parquet.read_table(clinic.public).append_column("person", pa.array(ids))
    (pa.csv.write_csv if kind == "csv" else pa.parquet.write_table)(table, f"rows.{kind}")
    plain = json.loads(mapl("predict", student, clinic.public, "--json").stdout)["predictions"]
    said = json.loads(mapl("predict", student, f"rows.{kind}", "--key", "person", "--json").stdout)
    assert (said["keys"], said["predictions"]) == (ids, plain)
    for name in ("p.csv", "p.parquet"):
        assert mapl("predict", student, f"rows.{kind}", "--key", "person", "--out", name).code == 0
    written = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert [(one["person"], one["prediction"]) for one in written] == list(zip(ids, plain, strict=True))
    assert pa.parquet.read_table("p.parquet").column_names == ["row", "person", "prediction"]
    assert pa.parquet.read_table("p.parquet")["person"].to_pylist() == ids
    assert mapl("predict", student, f"rows.{kind}", "--key", "person").stdout == Path("p.csv").read_text()


def test_a_key_may_be_any_column(mapl: Mapl, clinic: Any, student: Path) -> None:
    """Also one that the student learns from, the label, and one that no JSON holds."""
    table = pa.parquet.read_table(clinic.test)
    pa.parquet.write_table(table.append_column("day", pa.array(range(300), pa.date32())), "rows.parquet")
    pa.csv.write_csv(table, "rows.csv")
    plain = json.loads(mapl("predict", student, clinic.test, "--json").stdout)
    for file, key in (
        ("rows.csv", "age"),
        ("rows.csv", LABEL),
        ("rows.parquet", "day"),
        ("rows.parquet", "smoking"),
    ):
        said = json.loads(mapl("predict", student, file, "--key", key, "--json").stdout)
        assert len(said.pop("keys")) == 300
        assert said == plain


@pytest.mark.parametrize("inside", ["", "public"])
def test_the_folder_of_a_run_is_no_student(mapl: Mapl, clinic: Any, student: Path, inside: str) -> None:
    ran = mapl("predict", student.parent.parent / inside, clinic.public)
    assert (ran.code, ran.stdout) == (2, "")
    assert f"is a folder of a run; its student is the file {student}" in " ".join(ran.stderr.split())


def test_without_labels_there_is_no_accuracy(mapl: Mapl, clinic: Any, student: Path) -> None:
    said = json.loads(mapl("predict", student, clinic.public, "--out", "p.csv", "--json").stdout)
    assert said == {"rows": 150, "accuracy": None, "out": "p.csv"}


def test_columns_may_come_in_any_order_and_company(mapl: Mapl, clinic: Any, student: Path) -> None:
    """Also as text, and without the unit, which no student has ever seen."""
    table = pa.parquet.read_table(clinic.public)
    pa.parquet.write_table(table, "same.parquet")
    other = table.drop_columns([UNIT]).append_column("shoes", pa.array(range(150)))
    pa.csv.write_csv(other.select(other.column_names[::-1]), "other.csv")
    same = json.loads(mapl("predict", student, "same.parquet", "--json").stdout)
    assert json.loads(mapl("predict", student, "other.csv", "--json").stdout) == same


def test_values_that_nobody_has_seen_are_predicted_too(mapl: Mapl, clinic: Any, student: Path) -> None:
    table = pa.parquet.read_table(clinic.public).slice(0, 3)
    place = table.column_names.index("smoking")
    pa.parquet.write_table(table.set_column(place, "smoking", pa.array(["pipe", None, "never"])), "p.parquet")
    assert json.loads(mapl("predict", student, "p.parquet", "--json").stdout)["rows"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.skops", "rows.csv"), "nothing.skops cannot be read"),
        (("rows.csv", "rows.csv"), "is not a student file"),
        (("{student}", "nothing.csv"), "There is no file nothing.csv"),
        (("{student}", "rows.csv"), "lacks the column 'glucose' and 4 more that the student needs"),
        (("{student}", "rows.txt"), "not a .csv"),
        (("{student}", "letters.csv"), "'age'"),
        (("{student}", "maybe.csv"), "declared classes (no, yes)"),
        (("{student}", "rows.csv", "--out", "p.json"), "name a .csv or .parquet file"),
        (("{student}", "rows.csv", "--out", "rows.csv"), "exists already"),
        (("{student}", "rows.csv", "--out", "nowhere/said.csv"), "in a folder that does not exist"),
        ((".", "rows.csv"), ". is a folder; give the file public/student.skops"),
        (("{student}", "rows.csv", "--key", "name"), "rows.csv has no column 'name'"),
        (("{student}", "rows.csv", "--key", "row"), "The key is 'row'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input(mapl: Mapl, clinic: Any, student: Path, arguments: tuple[str, ...], message: str) -> None:
    Path("rows.csv").write_text("age,bmi\n50,27\n")
    Path("rows.txt").write_text("age,bmi\n50,27\n")
    head = "age,bmi,glucose,pressure,smoking,region,active"
    Path("letters.csv").write_text(f"{head}\nold,27,100,120,never,north,no\n")
    Path("maybe.csv").write_text(f"{head},{LABEL}\n50,27,100,120,never,north,no,maybe\n")
    before = sorted(Path().iterdir())
    ran = mapl("predict", *(one.format(student=student) for one in arguments))
    assert (ran.code, ran.stdout) == (2, "")
    assert message in " ".join(ran.stderr.split())
    assert sorted(Path().iterdir()) == before
