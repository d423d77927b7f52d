"""``mapl learn`` with learners, strategies, schemas, groups and files of all kinds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.data.synthetic import LABEL, UNIT
from mapl.students import load
from mapl.teachers import poll

Mapl = Callable[..., Any]


@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        ("imputed", {}),
        ("imputed", {"fill": "random"}),
        ("imputed", {"fill": "1"}),
        ("self-training", {}),
        ("voting", {"voters": 3}),
    ],
)
def test_strategies(mapl: Mapl, clinic: Any, strategy: str, more: dict[str, Any]) -> None:
    options = [part for name, value in more.items() for part in (f"--{name}", value)]
    ran = mapl(
        *clinic.arguments("--strategy", strategy, *options, "--test", clinic.test, "--queries", 100, "--json")
    )
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["strategy"] == strategy
    told = json.loads(Path("run/public/settings.json").read_text())["options"]
    assert {name: told[name] for name in ("fill", "voters")} == {"fill": None, "voters": None} | more
    members = getattr(load("run/public/student.skops").model, "members", [])
    assert len(members) == more.get("voters", 0)
    assert said["accuracy"] > 0.65


LEARNERS = """
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, FunctionTransformer

def numbers(X):
    return X[["age", "bmi", "glucose", "pressure"]]

pipeline = make_pipeline(FunctionTransformer(numbers), StandardScaler(), LogisticRegression())

def oldest(X, y):
    limit = X["glucose"].mean()
    return lambda rows: ["yes" if value > limit else "no" for value in rows["glucose"]]
"""


@pytest.mark.parametrize("name", ["pipeline", "oldest"])
def test_a_learner_of_ones_own(
    mapl: Mapl, clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / f"own_{name}.py").write_text(LEARNERS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    ran = mapl(*clinic.arguments("--learner", f"own_{name}:{name}", "--test", clinic.test, "--json"))
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["accuracy"] > 0.6


COMMAND = """
import csv, sys
shard, queries, votes = sys.argv[1:]
rows = list(csv.DictReader(open(shard)))
sick = [float(row["glucose"]) for row in rows if row["diabetes"] == "yes"]
well = [float(row["glucose"]) for row in rows if row["diabetes"] == "no"]
limit = (sum(sick) / len(sick) + sum(well) / len(well)) / 2
with open(votes, "w") as out:
    for row in csv.DictReader(open(queries)):
        print("yes" if float(row["glucose"]) > limit else "no", file=out)
"""


def test_a_command_as_learner(mapl: Mapl, clinic: Any, tmp_path: Path) -> None:
    (tmp_path / "fit.py").write_text(COMMAND)
    command = f"{sys.executable} -S {tmp_path / 'fit.py'} {{shard}} {{queries}} {{votes}}"
    ran = mapl(*clinic.arguments("--learner-command", command, "--test", clinic.test, "--json", teachers=12))
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["accuracy"] > 0.6
    # The command may name local paths; only the program is published.
    for one in Path("run/public").iterdir():
        assert b"fit.py" not in one.read_bytes()


def test_a_schema_brings_classes_and_unit_along(mapl: Mapl, clinic: Any) -> None:
    """What `mapl schema` drafted needs no repetition: the unit in it is the unit that is protected."""
    drafted = mapl("schema", clinic.public, "--label", LABEL, "--unit", UNIT, "--classes", "no,yes")
    assert drafted.code == 0
    ran = mapl(
        *("learn", clinic.private, "--public", clinic.public, "--schema", "schema.json", "--label", LABEL),
        *("--epsilon", 20, "--delta", 1e-5, "--teachers", 30, "--adjacency", "replace-one", "--jobs", 1),
        *("--out", "run", "--json"),
    )
    assert ran.code == 0, ran.stderr
    assert UNIT in json.loads(ran.stdout)["unit"]
    assert json.loads(Path("run/public/plan.json").read_text())["unit"] == UNIT


def test_groups_are_compared_in_the_report(mapl: Mapl, clinic: Any) -> None:
    assert mapl(*clinic.arguments("--group", "region", "--group", "smoking")).code == 0
    labels = pa.parquet.read_table("run/public/labels.parquet")
    assert labels.column_names == ["question", "label", "status", "region", "smoking"]
    page = Path("run/public/report.html").read_text()
    for name in ("region", "north", "smoking", "former"):
        assert name in page


def test_csv_files(mapl: Mapl, clinic: Any) -> None:
    for name in ("private", "public", "test"):
        pa.csv.write_csv(pa.parquet.read_table(getattr(clinic, name)), f"{name}.csv")
    ran = mapl(
        *clinic.arguments("--public", "public.csv", "--test", "test.csv", "--json", private=Path("private.csv"))
    )
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["accuracy"] > 0.7


def test_a_unit_column_that_public_rows_lack(mapl: Mapl, clinic: Any) -> None:
    pa.parquet.write_table(pa.parquet.read_table(clinic.public).drop_columns([UNIT]), "public.parquet")
    assert mapl(*clinic.arguments("--public", "public.parquet")).code == 0


def test_whose_rows_are_is_asked_where_a_public_column_looks_like_ids(mapl: Mapl, clinic: Any) -> None:
    """The public rows say so, and nothing is read or spent before there is an answer."""
    command = clinic.arguments(private=Path("nowhere.parquet"))
    place = command.index("--unit")
    asked = mapl(*command[:place], *command[place + 2 :])
    assert asked.code == 2
    said = " ".join(asked.stderr.split())
    assert f"Column {UNIT!r} (by its name) may hold ids, and no unit is declared. Nothing was spent." in said
    assert "--unit COLUMN" in said
    assert "--unit none" in said
    assert "nowhere.parquet" not in said
    assert not Path("run").exists()
    assert "may hold ids" not in mapl(*command).stderr
    declared = mapl(*command, "--unit", "none")
    assert f"mapl: warning: Column {UNIT!r} (by its name) may hold ids" in " ".join(declared.stderr.split())
    assert "There is no file nowhere.parquet" in declared.stderr


def test_every_record_may_stand_for_itself(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--unit", "none", "--json"))
    assert ran.code == 0, ran.stderr
    assert "one record" in json.loads(ran.stdout)["unit"]
    again = mapl(*clinic.arguments("--unit", "none", "--continue", "run", "--epsilon", 30, "--out", "second"))
    assert again.code == 0, again.stderr


def test_a_schema_and_the_command_line_agree_about_the_unit(mapl: Mapl, clinic: Any) -> None:
    assert mapl("schema", clinic.public, "--label", LABEL, "--unit", UNIT, "--out", "with.json").code == 0
    ran = mapl(*clinic.arguments("--schema", "with.json", "--unit", "none"))
    assert ran.code == 2
    assert f"the schema declares the unit {UNIT!r}" in " ".join(ran.stderr.split())
    assert mapl("schema", clinic.public, "--label", LABEL, "--unit", "none", "--out", "without.json").code == 0
    assert json.loads(Path("without.json").read_text())["unit"] is None


def test_where_features_are_public_they_are_looked_at(mapl: Mapl, clinic: Any) -> None:
    visits = pa.parquet.read_table(clinic.private).drop_columns([UNIT])
    numbered = visits.append_column("place", pa.array(range(visits.num_rows)))
    pa.parquet.write_table(numbered, "numbered.parquet")
    command = (
        *("learn", "numbered.parquet", "--label-private", "--label", LABEL, "--classes", "no,yes", "--epsilon", 20),
        *("--delta", 1e-5, "--teachers", 30, "--student", "ridge", "--jobs", 1, "--out", "run"),
    )
    words = "Column 'place' (nearly all of its public values differ) may hold ids"
    asked = mapl(*command)
    assert asked.code == 2
    assert words in " ".join(asked.stderr.split())
    ran = mapl(*command, "--unit", "none")
    assert ran.code == 0, ran.stderr
    assert words in " ".join(ran.stderr.split())


@pytest.mark.parametrize(
    ("more", "limit"), [((), 600.0), (("--time-limit", "none"), None), (("--time-limit", "2.5"), 2.5)]
)
def test_teachers_have_a_time_limit_unless_it_is_waived(
    mapl: Mapl, clinic: Any, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], limit: float | None
) -> None:
    """By default a learner that hangs does not hang the run for ever."""
    limits = []

    def poll_and_note(*given: Any, **named: Any) -> Any:
        limits.append(named["time_limit"])
        return poll(*given, **named)

    monkeypatch.setattr("mapl.pipeline.votes.labelling.poll", poll_and_note)
    assert mapl(*clinic.arguments(*more)).code == 0
    assert limits == [limit]


def test_learners_are_listed(mapl: Mapl) -> None:
    ran = mapl("learners", "--json")
    assert ran.code == 0
    assert {"logistic", "ridge", "hgb", "forest", "nb", "svm", "mlp", "text"} <= set(json.loads(ran.stdout))
    assert "logistic" in mapl("learners").stdout
