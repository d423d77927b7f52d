"""``--drop`` and ``--categories``: columns are changed without an edited file, wherever a schema is drafted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from mapl.data import Schema
from mapl.pipeline.rehearsal import plans, ways

Mapl = Callable[..., Any]

RNG = np.random.default_rng(0)
WORK = ("for a private company of any size", "for the government of the state", "not at all so far, ever")


def people(n: int, rng: np.random.Generator) -> pa.Table:
    age = rng.integers(18, 90, n)
    codes = rng.choice([f"{i:03d}" for i in range(300)], n, p=(p := 1 / np.arange(1, 301)) / p.sum())
    return pa.table(
        {
            "age": [str(one) if i % 40 else "unknown" for i, one in enumerate(age)],
            "work": rng.choice(WORK, n),
            "ward": codes,
            "seen": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024" for i in range(n)],
            "row": [f"r{i}" for i in range(n)],
            "sick": np.where(age > 50, "yes", "no"),
        }
    )


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    pa.csv.write_csv(people(1200, RNG), tmp_path / "private.csv")
    pa.csv.write_csv(people(400, RNG), tmp_path / "public.csv")
    return tmp_path


LEARN = ("learn", "private.csv", "--public", "public.csv", "--label", "sick", "--epsilon", 5, "--delta", 1e-5)
LEARN += ("--method", "cells", "--cells", 20, "--student", "ridge", "--out", "run")
PLAN = ("plan", "--delta", 1e-5, "--epsilon", 2, "--rows", 5000, "--queries", 100)
CHOICES = ("--drop", "row", "--categories", "ward")
TOLD = "1 number, 2 categories (1 with a rest group), 1 date; dropped: row"


def test_a_schema_is_drafted_as_it_is_said(mapl: Mapl, tables: Path) -> None:
    ran = mapl("schema", "public.csv", "--label", "sick", *CHOICES)
    assert ran.code == 0, ran.stderr
    assert f"Columns: {TOLD}." in ran.stdout
    for shown in ("one for the rest", "day first", "missing where it says unknown", "dropped"):
        assert shown in " ".join(ran.stdout.replace("│", " ").split())
    assert "'age' was drafted as a number, though 10 of its public cells say 'unknown'" in ran.stderr
    schema = Schema.read(tables / "schema.json")
    ward = next(one for one in schema.columns if one.name == "ward")
    assert ward.rest
    assert "001" in ward.categories  # as it is written, and not 1
    assert {one.kind for one in schema.columns} == {"number", "category", "date"}


def test_learning_takes_the_choices_and_shows_the_kinds(mapl: Mapl, tables: Path) -> None:
    ran = mapl(*LEARN, *CHOICES, "--test", "public.csv")
    assert ran.code == 0, ran.stderr
    assert "'age' was drafted as a number" in ran.stderr
    flat = " ".join(ran.stdout.replace("│", " ").split())
    assert TOLD in flat
    assert "change with --categories or --drop" in flat
    schema = Schema.read(tables / "run" / "public" / "schema.json")
    assert schema.dropped == ("row",)
    assert "001" in next(one for one in schema.columns if one.name == "ward").categories
    page = (tables / "run" / "public" / "report.html").read_text(encoding="utf-8")
    assert f"Columns: <bdi>{TOLD}</bdi>" in page
    ran = mapl("predict", "run/public/student.skops", "public.csv", "--out", "predicted.csv")
    assert ran.code == 0, ran.stderr


def test_json_has_the_kinds_and_a_given_schema_may_be_changed(mapl: Mapl, tables: Path) -> None:
    assert mapl("schema", "public.csv", "--label", "sick", "--drop", "row").code == 0
    ran = mapl(*LEARN, "--schema", "schema.json", "--categories", "ward", "--json")
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["columns"] == TOLD


def test_teachers_take_the_choices_too(mapl: Mapl, tables: Path) -> None:
    teach = ("teach", *LEARN[1:10], "--queries", 50, "--teachers", 10, "--jobs", 1, "--out", "run", *CHOICES)
    ran = mapl(*teach, "--json")
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["columns"] == TOLD
    assert Schema.read(tables / "run" / "public" / "schema.json").dropped == ("row",)


def test_owners_see_how_the_table_is_read_with_them(mapl: Mapl, tables: Path) -> None:
    ran = mapl("check", "private.csv", "--public", "public.csv", "--label", "sick", *CHOICES, "--json")
    assert ran.code == 0, ran.stderr
    columns = json.loads(ran.stdout)["columns"]
    assert set(columns) == {"age", "work", "ward", "seen"}
    assert columns["ward"] == {"empty": 0, "illegible": 0}
    assert columns["age"] == {"empty": 30, "illegible": 0}
    ran = mapl("check", "private.csv", "--schema", "schema.json", "--label", "sick", "--drop", "row")
    assert ran.code == 2


@pytest.mark.long
def test_plans_take_them_with_a_sample(mapl: Mapl, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which columns there are is told before anything is rehearsed, so nothing is rehearsed here."""
    monkeypatch.setattr(plans, "MOST_PLANS", 0)
    monkeypatch.setattr(ways, "FEWEST_ROWS", dict.fromkeys(ways.FEWEST_ROWS, 10**6))
    ran = mapl(*PLAN[:-3], 300, "--queries", 20, "--public-sample", "public.csv", "--label", "sick", *CHOICES)
    assert ran.code == 0, ran.stderr
    assert f"columns of the sample: {TOLD}" in " ".join(ran.stderr.split())
    ran = mapl(*PLAN, "--error-at", "100:0.2", "--drop", "row")
    assert (ran.code, ran.stdout) == (2, "")
    assert "--drop belongs to --public-sample" in ran.stderr


def test_a_column_that_the_private_table_alone_has_is_left_out(mapl: Mapl, tables: Path) -> None:
    table = pa.csv.read_csv(tables / "private.csv")
    pa.csv.write_csv(table.append_column("insurer", [["one"] * len(table)]), tables / "private.csv")
    ran = mapl(*LEARN, "--drop", "row")
    assert ran.code == 2
    assert "have column 'insurer', which the schema does not declare" in ran.stderr
    assert "leave it out with --drop, or list it" in ran.stderr
    assert not (tables / "run").exists()
    ran = mapl(*LEARN, "--drop", "row", "--drop", "insurer")
    assert ran.code == 0, ran.stderr
    assert Schema.read(tables / "run" / "public" / "schema.json").dropped == ("row", "insurer")
    ran = mapl(*LEARN[:-1], "again", "--drop", "agee")  # nearly a column that there is
    assert ran.code == 2
    assert "Did you mean 'age'?" in ran.stderr


@pytest.mark.parametrize("verb", ["schema", "learn", "teach", "check", "plan"])
@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (("--drop", "rwo"), "--drop names 'rwo'"),
        (
            ("--categories", "Wrad"),
            "--categories names 'Wrad', which is no column of the public rows or the schema.",
        ),
        (("--drop", "sick"), "which is the label or the unit"),
        (("--drop", "age", "--categories", "age"), "both name 'age'"),
    ],
)
def test_misspelled_names_are_told_and_nothing_is_spent(
    mapl: Mapl, tables: Path, verb: str, choices: tuple[str, ...], words: str
) -> None:
    line: tuple[Any, ...] = {
        "schema": ("schema", "public.csv", "--label", "sick"),
        "learn": LEARN,
        "teach": ("teach", *LEARN[1:10], "--queries", 50, "--out", "run"),
        "check": ("check", "private.csv", "--public", "public.csv", "--label", "sick"),
        "plan": (*PLAN, "--public-sample", "public.csv", "--label", "sick"),
    }[verb]
    before = sorted(tables.iterdir())
    ran = mapl(*line, *choices)
    assert (ran.code, ran.stdout) == (2, "")
    assert words in " ".join(ran.stderr.split())
    if choices[1] in ("rwo", "Wrad"):
        assert "Did you mean" in ran.stderr
    assert sorted(tables.iterdir()) == before


def test_rows_of_one_person_are_asked_about_by_codes_that_repeat(mapl: Mapl, tables: Path) -> None:
    table = people(600, RNG).drop_columns(["row"])
    pa.csv.write_csv(table.append_column("patient", [[f"{i // 3:04x}" for i in range(600)]]), "public.csv")
    ran = mapl(*LEARN)
    assert ran.code == 2
    assert "Column 'patient' (by its name and its many public values) may hold ids" in ran.stderr
    assert "--drop" in ran.stderr
    assert not (tables / "run").exists()
