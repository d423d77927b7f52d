"""`mapl learn --regression`: a label that is a number, from the private table to predictions, and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.students import load

RANGE = ("--regression", "0,100")


def table(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = 40 + 10 * rng.normal(size=n)
    cost = 50 + (age - 40) + 2 * rng.normal(size=n)
    return pa.table(
        {"person": np.arange(n) // 2 * 7 + 11, "age": age, "ward": rng.choice(["a", "b"], n), "cost": cost}
    )


@pytest.fixture
def files(mapl: Callable[..., Any]) -> None:
    pa.parquet.write_table(table(2500, 0), "private.parquet")
    pa.parquet.write_table(table(200, 1).select(["age", "ward"]), "public.parquet")
    pa.parquet.write_table(table(300, 2), "test.parquet")


def command(*more: Any, verb: str = "learn", public: Any = ("--public", "public.parquet")) -> tuple[Any, ...]:
    given = (verb, "private.parquet", *public, "--label", "cost", "--unit", "person")
    return (*given, "--epsilon", 4, "--delta", 1e-5, "--out", "run", *more)


def read(name: str) -> Any:
    return json.loads(Path("run/public", name).read_text("utf-8"))


def test_a_number_is_learned_predicted_and_reported(mapl: Callable[..., Any], files: None) -> None:
    ran = mapl(*command(*RANGE, "--test", "test.parquet", "--json"))
    assert ran.code == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["r2"] > 0.8
    assert told["mae"] < told["mean_mae"] < 1.2 * told["middle_mae"]
    assert "accuracy" not in told
    assert read("plan.json")["stages"][0]["parameters"]["lowest label"] == 0
    assert read("settings.json")["number_range"] == [0, 100]
    labels = pa.parquet.read_table("run/public/labels.parquet")
    numbers = np.asarray(labels["number"])
    assert labels["label"].to_pylist() == np.where(numbers >= 50, "higher", "lower").tolist()
    page = Path("run/public/report.html").read_text("utf-8")
    assert "Error of the student" in page
    assert "in the units of the label" in page
    assert "Accuracy of the student" not in page
    assert "for each feature two numbers" in page
    assert "and the number that it predicts" in page
    assert "for each feature and class" not in page
    card = Path("run/public/card.md").read_text("utf-8")
    assert "A regression for numbers of the range 0 to 100" in card

    ran = mapl("predict", "run/public/student.skops", "test.parquet", "--out", "predicted.csv", "--key", "person")
    assert ran.code == 0, ran.stderr
    assert "off by" in ran.stdout
    predicted = np.asarray(pa.csv.read_csv("predicted.csv")["prediction"])
    rows = pa.parquet.read_table("test.parquet").select(["age", "ward"])
    np.testing.assert_array_equal(predicted, load(Path("run/public/student.skops")).predict(rows))

    ran = mapl("report", "run", "--test", "test.parquet", "--out", "again.html")
    assert ran.code == 0, ran.stderr
    assert "Student error" in ran.stdout
    checked = json.loads(Path("run/private/check.json").read_text("utf-8"))
    assert sum(checked["by_class"].values()) == 2500


def test_a_run_can_be_asked_for_again_by_its_settings(mapl: Callable[..., Any], files: None) -> None:
    assert mapl(*command(*RANGE)).code == 0
    ran = mapl(
        "learn", "run/public/settings.json", "private.parquet", "--public", "public.parquet", "--out", "second"
    )
    assert ran.code == 0, ran.stderr
    assert (
        read("settings.json")["options"] == json.loads(Path("second/public/settings.json").read_text())["options"]
    )


def test_another_range_is_another_run(mapl: Callable[..., Any], files: None, monkeypatch: Any) -> None:
    from mapl.pipeline.runs import published

    def dying(*given: Any, **more: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(published, "dumps", dying)
        assert mapl(*command(*RANGE)).code != 0
    ran = mapl(*command("--regression", "0,200"))
    assert ran.code == 2
    assert mapl(*command(*RANGE)).code == 0


def test_people_with_labels_of_all_kinds_stop_nothing(mapl: Callable[..., Any], files: None) -> None:
    lines = Path("private.csv")
    with lines.open("w") as file:
        file.write("person,age,ward,cost\n")
        for i in range(600):
            cost = ("", "nan", "inf", "-Infinity", "1e999", "much", str(40 + i % 20))[i % 7]
            file.write(f"{i},{30 + i % 40},a,{cost}\n")
    ran = mapl(*command(*RANGE)[:1], "private.csv", *command(*RANGE)[2:])
    assert ran.code == 0, ran.stderr
    checked = json.loads(Path("run/private/check.json").read_text("utf-8"))
    assert checked["by_class"] == {"below the range": 86, "within the range": 85, "above the range": 172}
    assert checked["n_used"] == 343


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--regression", "100,0"), "goes from 100 to 0"),
        (("--regression", "7,7"), "goes from 7 to 7"),
        (("--regression", "0,inf"), "two finite numbers"),
        (("--regression", "nan,1"), "two finite numbers"),
        (("--regression", "low"), "--regression 0,100"),
        ((*RANGE, "--classes", "no,yes"), "--classes that it names classes"),
        ((*RANGE, "--label-values", "0=no"), "--label-values that it names classes"),
        ((*RANGE, "--method", "cells"), "the method cells was asked for"),
        ((*RANGE, "--method", "teachers"), "the method teachers was asked for"),
        ((*RANGE, "--method", "select:moments,cells"), "the method select:moments,cells was asked for"),
        ((*RANGE, "--learner", "ridge"), "a learner was asked for"),
        ((*RANGE, "--teachers", "20"), "a number of teachers was asked for"),
        ((*RANGE, "--cells", "20"), "a number of cells was asked for"),
        ((*RANGE, "--mechanism", "ladder"), "a mechanism was asked for"),
        ((*RANGE, "--error-share", "0.1"), "an estimate of the teachers' error was asked for"),
        ((*RANGE, "--strategy", "soft"), "a strategy of the student was asked for"),
        ((*RANGE, "--strategy", "active"), "a strategy of the student was asked for"),
        ((*RANGE, "--student", "ridge"), "a learner of the student was asked for"),
        ((*RANGE, "--metric", "balanced"), "a metric of classes was asked for"),
        ((*RANGE, "--class-weight", "lower=2"), "a weight of classes was asked for"),
        ((*RANGE, "--delta", "0"), "positive delta"),
        ((), "--regression LOW,HIGH"),
    ],
)
def test_what_has_no_meaning_for_numbers_is_refused_in_words(
    more: tuple[str, ...], said: str, mapl: Callable[..., Any], files: None
) -> None:
    ran = mapl(*command(*more))
    assert ran.code == 2, ran.stderr
    assert said in " ".join(ran.stderr.split())
    assert not Path("run").exists()


def test_numbers_for_a_label_without_a_range_are_answered_with_its_name(
    mapl: Callable[..., Any], files: None
) -> None:
    pa.parquet.write_table(table(200, 1).drop_columns(["person"]), "public.parquet")
    ran = mapl(*command())
    assert ran.code == 2
    assert "hardly classes" in ran.stderr
    assert "--regression LOW,HIGH" in " ".join(ran.stderr.split())


def test_without_public_rows_and_schema_nothing_can_be_known(mapl: Callable[..., Any], files: None) -> None:
    ran = mapl(*command(*RANGE, public=()))
    assert ran.code == 2
    assert "Nothing public is known" in ran.stderr


def test_a_schema_alone_is_enough(mapl: Callable[..., Any], files: None) -> None:
    columns = [
        {"name": "age", "kind": "number", "range": [0, 100]},
        {"name": "ward", "kind": "category", "categories": ["a", "b"]},
    ]
    Path("schema.json").write_text(json.dumps({"mapl_schema": 1, "label": "cost", "columns": columns}))
    ran = mapl(*command(*RANGE, "--test", "test.parquet", "--json", public=("--schema", "schema.json")))
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["r2"] > 0.3


@pytest.mark.parametrize(
    ("more", "said"), [(("--probabilities",), "--probabilities"), (("--label-values", "0=no"), "--label-values")]
)
def test_predictions_of_numbers_have_no_classes(
    more: tuple[str, ...], said: str, mapl: Callable[..., Any], files: None
) -> None:
    assert mapl(*command(*RANGE)).code == 0
    ran = mapl("predict", "run/public/student.skops", "test.parquet", *more)
    assert ran.code == 2
    assert f"leave {said} away" in " ".join(ran.stderr.split())


def test_test_rows_without_numbers_are_refused_before_anything_is_spent(
    mapl: Callable[..., Any], files: None
) -> None:
    odd = table(20, 3)
    pa.parquet.write_table(odd.set_column(3, "cost", pa.array(["much"] * 20)), "odd.parquet")
    ran = mapl(*command(*RANGE, "--test", "odd.parquet"))
    assert ran.code == 2
    said = " ".join(ran.stderr.split())
    assert "Column 'cost' of the test rows holds no number at all" in said
    assert "where it is a class, leave out --regression" in said
    assert not Path("run/private/ledger.sqlite").exists()


def test_the_owner_sees_what_lies_beyond_the_range(mapl: Callable[..., Any], files: None) -> None:
    ran = mapl(
        "check",
        "private.parquet",
        "--public",
        "public.parquet",
        "--label",
        "cost",
        "--regression",
        "45,55",
        "--unit",
        "person",
    )
    assert ran.code == 0, ran.stderr
    assert "with a label above the range" in " ".join(ran.stdout.split())
