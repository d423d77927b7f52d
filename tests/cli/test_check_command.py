"""``mapl check`` tells a table's owner what a run says nothing about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.cli.verbs import command_of
from mapl.data import Schema, draft_schema, read_table

Mapl = Callable[..., Any]

PRIVATE = """a,t,d,p,y
1,x,2024-01-01,7,yes
abc,y,,7.0,no
NA,z,31 January,,yes
1,2
3,x,2024-02-30,8,1
4,x,2024-02-28,8,
"""
PUBLIC = "a,t,d\n1,x,2024-01-01\n2,y,2024-01-02\n"
OPTIONS = ("--label", "y", "--classes", "yes,no", "--unit", "p")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "private.csv").write_text(PRIVATE)
    (tmp_path / "public.csv").write_text(PUBLIC)
    return tmp_path


def schema_of(folder: Path) -> Schema:
    return draft_schema(read_table(folder / "public.csv", what="public rows"))


@pytest.mark.parametrize(("unit", "asked"), [((), True), (("--unit", "patient_id"), False)])
def test_a_column_that_looks_like_ids_is_asked_about(
    mapl: Mapl, tmp_path: Path, unit: tuple[str, ...], asked: bool
) -> None:
    (tmp_path / "private.csv").write_text("a,patient_id,y\n1,7,yes\n2,8,no\n")
    (tmp_path / "public.csv").write_text("a,patient_id\n1,1\n2,2\n")
    ran = mapl("check", "private.csv", "--public", "public.csv", "--label", "y", "--classes", "yes,no", *unit)
    assert ran.code == 0, ran.stderr
    assert ("'patient_id' (by its name) may hold ids" in ran.stderr) == asked


@pytest.mark.parametrize("given", ["public", "schema"])
def test_what_is_left_out_and_why(mapl: Mapl, files: Path, given: str) -> None:
    (files / "schema.json").write_text(schema_of(files).to_json())
    source = ("--public", "public.csv") if given == "public" else ("--schema", "schema.json")
    ran = mapl("check", "private.csv", *source, *OPTIONS, "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said.pop("private").startswith("PRIVATE")
    assert said == {
        "n_rows": 5,
        "n_used": 2,
        "n_units": 1,  # 7 and 7.0 are one person
        "n_torn": 1,
        "n_of_nobody": 1,
        "n_without_label": 1,
        "n_of_other_class": 1,
        "by_class": {"yes": 1, "no": 1},
        "columns": {
            "a": {"empty": 1, "illegible": 1},
            "t": {"empty": 0, "illegible": 1},
            "d": {"empty": 1, "illegible": 2},
        },
    }
    assert sorted(path.name for path in files.iterdir()) == ["private.csv", "public.csv", "schema.json"]


def test_people_read_first_that_it_is_private(mapl: Mapl, files: Path) -> None:
    ran = mapl("check", "private.csv", "--public", "public.csv", *OPTIONS)
    assert ran.code == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "PRIVATE: for whoever may see the table; nothing here is protected."
    assert "whose label is no declared class" in ran.stdout


def test_other_files_and_empty_tables(mapl: Mapl, files: Path) -> None:
    table = pyarrow.csv.read_csv(files / "public.csv").append_column("y", [["0", "1"]])
    for rows, n in ((table, 2), (table.slice(0, 0), 0)):
        pyarrow.parquet.write_table(rows, files / "private.parquet")
        ran = mapl("check", "private.parquet", "--public", "public.csv", *OPTIONS[:4], "--json")
        assert ran.code == 0, ran.stderr
        assert json.loads(ran.stdout)["n_of_other_class"] == n  # 0 and 1 are neither yes nor no


@pytest.mark.parametrize(
    ("options", "words"),
    [((), "--schema FILE, or --public FILE"), (("--public", "nowhere.csv"), "no file nowhere.csv")],
)
def test_what_is_not_declared(mapl: Mapl, files: Path, options: tuple[str, ...], words: str) -> None:
    ran = mapl("check", "private.csv", *options, *OPTIONS)
    assert ran.code == 2
    assert words in ran.stderr


def test_what_learn_is_given_check_takes_too(mapl: Mapl, files: Path) -> None:
    """The options that say how a table is read are those of mapl learn, word for word."""
    learn, check = (
        {one.name: (one.opts, getattr(one, "help", None)) for one in command_of(verb).params}
        for verb in ("learn", "check")
    )
    assert set(check) - set(learn) == set()
    assert [learn[name] for name in ("unit", "label_values")] == [check[name] for name in ("unit", "label_values")]
    ran = mapl("check", "private.csv", "--public", "public.csv", *OPTIONS[:4], "--unit", "none", "--json")
    assert ran.code == 2
    assert "have column 'p'" in " ".join(ran.stderr.split())  # learned from, then, and the public rows lack it
    (files / "public.csv").write_text("a,t,d,p\n1,x,2024-01-01,7\n2,y,2024-01-02,8\n")
    ran = mapl("check", "private.csv", "--public", "public.csv", *OPTIONS[:4], "--unit", "none", "--json")
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["n_units"] == 3  # every record stands for itself


def test_a_unit_and_none_contradict_each_other(mapl: Mapl, files: Path) -> None:
    (files / "schema.json").write_text(replace(schema_of(files), unit="p").to_json())
    ran = mapl("check", "private.csv", "--schema", "schema.json", *OPTIONS[:4], "--unit", "none")
    assert ran.code == 2
    assert "the schema declares the unit 'p'" in " ".join(ran.stderr.split())


def test_unit_none_means_what_it_means_elsewhere(mapl: Any) -> None:
    Path("p.csv").write_text("a,y\n1,no\n2,yes\n3,yes\n")
    Path("q.csv").write_text("a\n1.5\n2.5\n")
    asked = ("check", "p.csv", "--public", "q.csv", "--label", "y", "--classes", "no,yes", "--json")
    alone, declared = mapl(*asked), mapl(*asked, "--unit", "none")
    assert (alone.code, declared.code) == (0, 0), declared.stderr
    assert alone.stdout == declared.stdout
